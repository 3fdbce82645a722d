// Package packed keeps the bytes of answers in compressed blocks: an answer may be kept for
// hours, and the events of a stream repeat most of their bytes.
package packed

import (
	"bytes"
	"errors"
	"sync"

	"github.com/klauspost/compress/s2"
)

// blockSize is how many bytes are compressed together. Each open stream has as much that is not compressed.
const blockSize = 4 << 10

// buffers are for bytes that are not compressed yet, by their size, and the last for those being
// compressed: many streams are silent after a few events.
var buffers = [...]bufferPool{{size: 1 << 10}, {size: 2 << 10}, {size: s2.MaxEncodedLen(blockSize)}}

// bufferPool has buffers of one size.
type bufferPool struct {
	size int
	pool sync.Pool
}

func (p *bufferPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, p.size)
	return &b
}

func (p *bufferPool) put(b *[]byte) {
	*b = (*b)[:0]
	p.pool.Put(b)
}

// Buffer is a growing sequence of bytes. The zero value is empty. It is for one goroutine.
type Buffer struct {
	Blocks [][]byte // compressed; all bytes after Pack
	rest   *[]byte  // the bytes after them, nil for none
	pool   int      // of rest
}

// Add adds a copy of p. It returns the memory that new blocks take, in bytes.
func (b *Buffer) Add(p []byte) (added int) {
	for len(p) > 0 {
		n := min(len(p), blockSize-b.grow(len(p)))
		*b.rest = append(*b.rest, p[:n]...)
		p = p[n:]
		if len(*b.rest) == blockSize {
			added += b.Pack()
		}
	}
	return added
}

// grow makes room for n more bytes, or up to a whole block, and returns how many there are.
func (b *Buffer) grow(n int) (have int) {
	if b.rest != nil {
		have = len(*b.rest)
	}
	need, pool := min(have+n, blockSize), 0
	for buffers[pool].size < need {
		pool++
	}
	switch {
	case b.rest == nil:
		b.rest, b.pool = buffers[pool].get(), pool
	case pool > b.pool:
		larger := buffers[pool].get()
		*larger = append(*larger, *b.rest...)
		buffers[b.pool].put(b.rest)
		b.rest, b.pool = larger, pool
	}
	return have
}

// Pack compresses the bytes that are not compressed yet, and returns the size of their
// block.
func (b *Buffer) Pack() int {
	if b.rest == nil {
		return 0
	}
	last := &buffers[len(buffers)-1]
	encoded := last.get()
	block := bytes.Clone(s2.Encode((*encoded)[:cap(*encoded)], *b.rest))
	last.put(encoded)
	b.Blocks = append(b.Blocks, block)
	b.Close()
	return len(block)
}

// Close drops the bytes that are not compressed. It may be called more than once.
func (b *Buffer) Close() {
	if b.rest != nil {
		buffers[b.pool].put(b.rest)
		b.rest = nil
	}
}

// Bytes returns the bytes of a buffer after Pack. It fails for blocks that are damaged or
// have more than limit bytes.
func (b *Buffer) Bytes(limit int) (all []byte, err error) {
	for _, block := range b.Blocks {
		plain, err := Decode(block, limit-len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, plain...)
	}
	return all, nil
}

// Encode returns a block with the bytes of p.
func Encode(p []byte) []byte { return s2.Encode(nil, p) }

// Decode returns the bytes of a block. It fails for one that is damaged or has more than
// limit bytes.
func Decode(block []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, errors.New("a compressed block is too long")
	}
	return s2.Decode(nil, block)
}
