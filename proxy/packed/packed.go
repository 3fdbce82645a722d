// Package packed keeps the bytes of answers in compressed blocks: an answer may be kept for
// hours, and the events of a stream repeat most of their bytes.
package packed

import (
	"bytes"
	"errors"
	"sync"

	"github.com/klauspost/compress/s2"
)

// blockSize is how many bytes are compressed together.
const blockSize = 16 << 10

// buffers are for bytes that are not compressed yet, and for those being compressed.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, s2.MaxEncodedLen(blockSize)); return &b }}

// Buffer is a growing sequence of bytes. The zero value is empty. It is for one goroutine.
type Buffer struct {
	Blocks [][]byte // compressed; all bytes after Pack
	rest   *[]byte  // the bytes after them, nil for none
}

// Add adds a copy of p. It returns the memory that new blocks take, in bytes.
func (b *Buffer) Add(p []byte) (added int) {
	for len(p) > 0 {
		if b.rest == nil {
			b.rest = buffers.Get().(*[]byte)
		}
		n := min(len(p), blockSize-len(*b.rest))
		*b.rest = append(*b.rest, p[:n]...)
		p = p[n:]
		if len(*b.rest) == blockSize {
			added += b.Pack()
		}
	}
	return added
}

// Pack compresses the bytes that are not compressed yet, and returns the size of their
// block.
func (b *Buffer) Pack() int {
	if b.rest == nil {
		return 0
	}
	encoded := buffers.Get().(*[]byte)
	block := bytes.Clone(s2.Encode((*encoded)[:cap(*encoded)], *b.rest))
	buffers.Put(encoded)
	b.Blocks = append(b.Blocks, block)
	b.Close()
	return len(block)
}

// Close drops the bytes that are not compressed. It may be called more than once.
func (b *Buffer) Close() {
	if b.rest != nil {
		*b.rest = (*b.rest)[:0]
		buffers.Put(b.rest)
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
