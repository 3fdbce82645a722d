package coding

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// blockBuffer is the size of the buffer before each decoder.
	blockBuffer = 16 << 10
	// A whole body is decoded in pieces, so that memory grows with them: each as long as all before it,
	// from the first size to the last.
	firstPiece = 32 << 10
	lastPiece  = 1 << 20
)

// Decode returns a body without its codings. Its bytes stay reserved in the account; after an error none do. While
// the pieces are joined, after the windows have gone, it is there twice. A body without bytes has none to decode.
func (c Codings) Decode(body []byte, l Limits) ([]byte, error) {
	read := false
	d := decoder{limits: l, encoded: blocks{next: func() ([]byte, error) {
		if read {
			return nil, io.EOF
		}
		read = true
		return body, nil
	}}}
	defer d.close()
	d.open(c)
	pieces, n, err := d.pieces()
	if err != nil {
		return nil, err
	}
	d.reader = nil
	d.release(d.windows)
	if len(pieces) > 1 {
		if err := d.reserve(n); err != nil {
			return nil, err
		}
	}
	d.reserved -= n // it is the caller's
	return slices.Concat(pieces...), nil
}

// decoder reads a decoded body.
type decoder struct {
	limits   Limits
	ratio    int // beyond the limit a body must be less than so many times as long as its encoded bytes
	encoded  blocks
	reserved int // bytes of the account
	windows  int // of them for the decoders
	reader   io.Reader
}

// open prepares to read a body: the coding that was applied last is taken off first.
func (d *decoder) open(c Codings) {
	d.reader = &d.encoded
	for i, f := range slices.Backward(c) {
		limit := d.limits.Bytes
		if i > 0 { // it is encoded still, which may be a little longer
			limit += limit/8 + blockBuffer
		}
		d.reader = &layer{decoder: d, format: f, body: bufio.NewReaderSize(d.reader, blockBuffer), limit: limit}
	}
}

// Read implements [io.Reader]. The error of the encoded body is returned as it is.
func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.reader.Read(p)
	var memory *MemoryError
	switch {
	case err == nil, errors.Is(err, io.EOF) && errors.Is(d.encoded.err, io.EOF):
		return n, err
	case errors.Is(err, ErrTooLarge), errors.As(err, &memory):
		return n, err
	case d.encoded.err != nil && !errors.Is(d.encoded.err, io.EOF):
		return n, d.encoded.err
	}
	return n, fmt.Errorf("%w: %w", ErrMalformed, err)
}

// pieces reads all of the body.
func (d *decoder) pieces() (pieces [][]byte, total int, err error) {
	for {
		size := min(max(firstPiece, total), lastPiece)
		if err := d.reserve(size); err != nil {
			return nil, 0, err
		}
		piece := make([]byte, size)
		n, err := io.ReadFull(d, piece)
		pieces, total = append(pieces, piece[:n]), total+n
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrMalformed):
			return pieces, total, nil
		case err != nil:
			return nil, 0, err
		}
	}
}

// reserve takes memory of the account.
func (d *decoder) reserve(n int) error {
	if d.limits.Account != nil && !d.limits.Account.Reserve(n) {
		return &MemoryError{Needed: d.reserved + n}
	}
	d.reserved += n
	return nil
}

// release returns n bytes to the account.
func (d *decoder) release(n int) {
	if d.limits.Account != nil && n > 0 {
		d.limits.Account.Return(n)
	}
	d.reserved -= n
}

// close returns the memory.
func (d *decoder) close() { d.release(d.reserved) }

// layer takes one coding off.
type layer struct {
	decoder *decoder
	format  *format
	body    *bufio.Reader
	reader  io.Reader // nil before the first byte
	limit   int       // bytes
	total   int       // bytes read
}

// Read implements [io.Reader]. It returns the bytes that are there: a text must not wait for the bytes of the next one.
func (l *layer) Read(p []byte) (int, error) {
	if l.reader == nil {
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	n, err := l.reader.Read(p)
	if l.total += n; l.total > l.limit && l.total >= l.decoder.ratio*l.decoder.encoded.total {
		return 0, ErrTooLarge
	}
	return n, err
}

// open makes the decoder.
func (l *layer) open() error {
	if _, err := l.body.Peek(1); err != nil {
		return err // such as io.EOF: there is no body
	}
	n, err := l.format.memory(l.body)
	if err != nil {
		return unlessEmpty(err)
	}
	if err = l.decoder.reserve(n); err != nil {
		return err
	}
	l.decoder.windows += n
	l.reader, err = l.format.open(l.body)
	return unlessEmpty(err)
}

// unlessEmpty is an error of a body that has a first byte: its end comes too early.
func unlessEmpty(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// blocks reads the encoded body.
type blocks struct {
	next  func() ([]byte, error) // a block is valid until the next call
	block []byte
	total int
	err   error // the last one
}

// Read implements [io.Reader].
func (b *blocks) Read(p []byte) (int, error) {
	for len(b.block) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.block, b.err = b.next()
		b.total += len(b.block)
	}
	n := copy(p, b.block)
	b.block = b.block[n:]
	return n, nil
}
