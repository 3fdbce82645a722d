package intercept

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
)

// HoldBuffer contains the parts of a stream that are kept back, in the order upstream sent
// them, each with what the dialect knows of it.
type HoldBuffer[T any] struct {
	bytes  []byte
	parts  []heldPart[T]
	packed []byte // the bytes compressed, nil while they are not
}

type heldPart[T any] struct {
	start, end int
	of         T
}

// partCost is about what a part costs beside its bytes, which count too: a stream
// may be made of nothing but short ones.
const partCost = 40

// Most calls come in as many parts, of as many bytes in all.
const (
	keptBytes = 6 << 10
	keptParts = 32
)

// Hold keeps a part back, and what is known of it. With limit > 0 it refuses to
// keep more bytes than that; the error is an [*Error].
func (k *HoldBuffer[T]) Hold(part []byte, of T, limit int) error {
	k.unpack()
	if k.bytes == nil {
		k.bytes, k.parts = make([]byte, 0, keptBytes), make([]heldPart[T], 0, keptParts)
	}
	start := len(k.bytes)
	if limit > 0 && start+len(part)+partCost*len(k.parts) > limit {
		return TooLong()
	}
	k.bytes = append(k.bytes, part...)
	k.parts = append(k.parts, heldPart[T]{start, len(k.bytes), of})
	return nil
}

// Pack makes what is kept small until somebody looks at it: it may wait for long,
// and the events of a stream repeat most of their bytes.
func (k *HoldBuffer[T]) Pack() {
	if len(k.bytes) == 0 {
		return
	}
	k.packed = bytes.Clone(s2.Encode(nil, k.bytes))
	k.bytes, k.parts = nil, slices.Clone(slices.Clip(k.parts))
}

// unpack undoes Pack.
func (k *HoldBuffer[T]) unpack() {
	if k.packed == nil {
		return
	}
	plain, err := s2.Decode(nil, k.packed)
	if err != nil {
		panic(fmt.Sprintf("what was kept of an answer cannot be unpacked: %v", err)) // it was in memory all the time
	}
	k.bytes, k.packed = plain, nil
}

// Len is the number of parts kept.
func (k *HoldBuffer[T]) Len() int { return len(k.parts) }

// At is the i-th part with what is known of it.
func (k *HoldBuffer[T]) At(i int) (part []byte, of T) {
	k.unpack()
	p := &k.parts[i]
	return k.bytes[p.start:p.end:p.end], p.of
}

// Render joins what recast leaves of each part, and stops at its first error.
func (k *HoldBuffer[T]) Render(recast func(part []byte, of T) ([]byte, error)) (out []byte, err error) {
	for i := range k.Len() {
		part, err := recast(k.At(i))
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// Bytes are all parts as upstream sent them.
func (k *HoldBuffer[T]) Bytes() []byte {
	k.unpack()
	return k.bytes
}

// PassBuffer collects what passes of a block. Parts that lie side by side stay one
// stretch of the block and are not copied.
type PassBuffer struct{ b []byte }

// Add appends a part.
func (g *PassBuffer) Add(part []byte) {
	if len(part) == 0 {
		return
	}
	n := len(g.b)
	switch {
	case n == 0:
		g.b = part
	case cap(g.b) >= n+len(part) && &g.b[:n+1][n] == &part[0]:
		g.b = g.b[:n+len(part)]
	default:
		g.b = append(g.b[:n:n], part...)
	}
}

// Take returns what was collected and begins anew.
func (g *PassBuffer) Take() []byte {
	b := g.b
	g.b = nil
	return b
}
