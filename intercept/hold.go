package intercept

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
)

// HoldBuffer contains the held parts of a stream, in the order in which upstream sent them,
// each with a value.
type HoldBuffer[T any] struct {
	bytes  []byte
	parts  []bufferedPart[T]
	packed []byte // the compressed bytes, nil if they are not compressed
}

type bufferedPart[T any] struct {
	start, end int
	of         T
}

// partCost is the approximate memory of a part besides its bytes: a stream may consist of
// short parts only.
const partCost = 40

// Most calls have at most so many parts and bytes: their arguments are not in parts.
const (
	keptBytes = 2 << 10
	keptParts = 8
)

// Hold adds a part with its value. If limit is above 0, it refuses to hold more bytes than
// that; the error is an [*Error].
func (k *HoldBuffer[T]) Hold(part []byte, of T, limit int) error {
	k.unpack()
	if k.bytes == nil {
		k.bytes, k.parts = make([]byte, 0, keptBytes), make([]bufferedPart[T], 0, keptParts)
	}
	start := len(k.bytes)
	if limit > 0 && start+len(part)+partCost*len(k.parts) > limit {
		return TooLong()
	}
	k.bytes = append(k.bytes, part...)
	k.parts = append(k.parts, bufferedPart[T]{start, len(k.bytes), of})
	return nil
}

// Pack compresses the parts until they are read: they may wait for hours, and the events
// of a stream repeat most of their bytes.
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
		panic(fmt.Sprintf("internal error: unpack the held parts of an answer: %v", err))
	}
	k.bytes, k.packed = plain, nil
}

// Len is the number of parts.
func (k *HoldBuffer[T]) Len() int { return len(k.parts) }

// At returns the i-th part with its value.
func (k *HoldBuffer[T]) At(i int) (part []byte, of T) {
	k.unpack()
	p := &k.parts[i]
	return k.bytes[p.start:p.end:p.end], p.of
}

// Of returns the value of the i-th part.
func (k *HoldBuffer[T]) Of(i int) T { return k.parts[i].of }

// Cut removes the first n parts, and joins the results of rewrite for each of them. At its first error nothing is removed.
func (k *HoldBuffer[T]) Cut(n int, rewrite func(part []byte, of T) ([]byte, error)) (out []byte, err error) {
	k.unpack()
	first := HoldBuffer[T]{bytes: k.bytes, parts: k.parts[:n]}
	if out, err = first.Render(rewrite); err != nil || n == 0 {
		return nil, err
	}
	cut := k.parts[n-1].end
	k.bytes, k.parts = k.bytes[cut:], slices.Clone(k.parts[n:])
	for i := range k.parts {
		k.parts[i].start -= cut
		k.parts[i].end -= cut
	}
	return out, nil
}

// Render joins the results of rewrite for each part, and stops at its first error.
func (k *HoldBuffer[T]) Render(rewrite func(part []byte, of T) ([]byte, error)) (out []byte, err error) {
	k.unpack()
	out = make([]byte, 0, len(k.bytes))
	for i := range k.Len() {
		part, err := rewrite(k.At(i))
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// Bytes returns all parts as upstream sent them.
func (k *HoldBuffer[T]) Bytes() []byte {
	k.unpack()
	return k.bytes
}

// PassBuffer collects the parts of a block that pass. Adjacent parts are not copied.
type PassBuffer struct {
	b   []byte
	own bool // b is a copy, in no memory of the caller
}

// Add appends a part.
func (g *PassBuffer) Add(part []byte) {
	if len(part) == 0 {
		return
	}
	n := len(g.b)
	switch {
	case n == 0:
		g.b = part
	case g.own:
		g.b = append(g.b, part...)
	case cap(g.b) >= n+len(part) && &g.b[:n+1][n] == &part[0]:
		g.b = g.b[:n+len(part)]
	default:
		g.b, g.own = append(g.b[:n:n], part...), true
	}
}

// Take returns and removes all parts.
func (g *PassBuffer) Take() []byte {
	b := g.b
	*g = PassBuffer{}
	return b
}
