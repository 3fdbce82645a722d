package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	headLimit  = 32 << 10 // of an answer
	smallBlock = 4 << 10  // while a stream is idle
	bigBlock   = 32 << 10 // while a stream is busy
)

var (
	smallBlocks = sync.Pool{New: func() any { b := make([]byte, smallBlock); return &b }}
	bigBlocks   = sync.Pool{New: func() any { b := make([]byte, bigBlock); return &b }}
)

// readers are buffers for heads of answers.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headLimit) }}

func putReader(br *bufio.Reader) {
	br.Reset(nil)
	readers.Put(br)
}

// Body reads the body of an upstream's answer block by block: the bytes of one read,
// without the chunked coding, so that they are one write to the agent too. It is not safe
// for concurrent use.
type Body struct {
	conn      *persistConn
	buffered  []byte        // arrived with the head, in the memory of reader
	reader    *bufio.Reader // of the head, until buffered is used up
	block     *[]byte
	full      bool // the last read filled its block
	coding    chunked
	framing   framing
	remaining int64 // bytes of a body of known length
	reusable  bool  // the connection may be used again after the body
	ended     bool
	deadline  time.Time // of reads, zero for none
	armed     time.Time // the deadline of the connection, which may be an earlier one
	release   func(reusable bool)
}

type framing int

const (
	byLength framing = iota
	byChunks
	byClose
)

// init begins to read the body after head. The reader belongs to the body from then on.
func (b *Body) init(conn *persistConn, head *fasthttp.ResponseHeader, reader *bufio.Reader) {
	b.conn, b.reader = conn, reader
	b.buffered, _ = reader.Peek(reader.Buffered())
	b.reusable = !head.ConnectionClose() && head.IsHTTP11()
	switch n := head.ContentLength(); {
	case head.StatusCode() == fasthttp.StatusNoContent, head.StatusCode() == fasthttp.StatusNotModified:
		b.framing, b.remaining = byLength, 0
	case n >= 0:
		b.framing, b.remaining = byLength, int64(n)
	case n == -1:
		b.framing = byChunks
	default:
		b.framing, b.reusable = byClose, false
	}
	b.checkEmpty()
}

// checkEmpty marks a connection with bytes after an answer without a body as not
// reusable: they would be taken for the next answer.
func (b *Body) checkEmpty() {
	if b.framing == byLength && b.remaining == 0 && len(b.buffered) > 0 {
		b.reusable = false
	}
}

// SetEmpty marks that the answer has no body, whatever its head announces (HEAD).
func (b *Body) SetEmpty() {
	b.framing, b.remaining = byLength, 0
	b.checkEmpty()
}

// Length returns how many bytes of a body of known length are still to come; known is
// false for others.
func (b *Body) Length() (n int64, known bool) { return b.remaining, b.framing == byLength }

// Buffered reports whether unread bytes of the body arrived with the head.
func (b *Body) Buffered() bool { return len(b.buffered) > 0 }

// Framed reports whether the framing marks the end of the body.
func (b *Body) Framed() bool { return b.framing != byClose }

// Next returns the next block, valid until the next call. At the end it returns
// [io.EOF], at an end that is not that of the framing [io.ErrUnexpectedEOF]. After
// [os.ErrDeadlineExceeded] the next call continues.
func (b *Body) Next() ([]byte, error) {
	for {
		if b.ended || (b.framing == byLength && b.remaining == 0) {
			b.ended = true
			return nil, io.EOF
		}
		raw, err := b.read()
		if len(raw) > 0 {
			p, decodeErr := b.decode(raw)
			if decodeErr != nil {
				return nil, decodeErr
			}
			if len(p) > 0 {
				return p, nil
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(b.deadline) {
			b.arm()
			continue
		}
		if err != nil {
			return nil, b.end(err)
		}
	}
}

// end translates the error of a read.
func (b *Body) end(err error) error {
	if b.ended {
		return io.EOF
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err // nothing is lost: the next read continues
	}
	b.reusable = false
	if errors.Is(err, io.EOF) {
		if b.framing == byClose {
			b.ended = true
			return io.EOF
		}
		return io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read the answer's body: %w", err)
}

func (b *Body) read() ([]byte, error) {
	if len(b.buffered) > 0 {
		p := b.buffered
		b.buffered = nil
		b.full = len(p) >= bigBlock/2
		return p, nil
	}
	b.releaseBlock()
	pool := &smallBlocks
	if b.full {
		pool = &bigBlocks
	} else if !b.conn.secure {
		b.conn.probe.wait() // without a block
	}
	b.block = pool.Get().(*[]byte)
	n, err := b.conn.Read(*b.block)
	b.full = n >= smallBlock
	return (*b.block)[:n], err
}

// ReadAll reads the rest of the body, up to a limit.
func (b *Body) ReadAll(limit int) ([]byte, error) { return readAll(b.Next, limit) }

func readAll(next func() ([]byte, error), limit int) ([]byte, error) {
	var all []byte
	for {
		p, err := next()
		all = append(all, p...)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case len(all) > limit:
			return nil, fmt.Errorf("the body is larger than %d bytes", limit)
		}
	}
}

// SetReadDeadline bounds the reads from now on; the zero time removes the bound. One that is
// later than that of the connection is set when that has passed: in a stream each event may
// move it, and hardly one read has to wait so long.
func (b *Body) SetReadDeadline(deadline time.Time) {
	b.deadline = deadline
	if b.armed.IsZero() != deadline.IsZero() || deadline.Before(b.armed) {
		b.arm()
	}
}

func (b *Body) arm() {
	b.armed = b.deadline
	_ = b.conn.SetReadDeadline(b.deadline)
}

// releaseBlock returns the memory of the last block.
func (b *Body) releaseBlock() {
	if b.reader != nil {
		putReader(b.reader)
		b.reader = nil
	}
	if b.block == nil {
		return
	}
	if len(*b.block) == smallBlock {
		smallBlocks.Put(b.block)
	} else {
		bigBlocks.Put(b.block)
	}
	b.block = nil
}

func (b *Body) decode(p []byte) ([]byte, error) {
	switch b.framing {
	case byLength:
		if int64(len(p)) > b.remaining {
			p, b.reusable = p[:b.remaining], false
		}
		b.remaining -= int64(len(p))
		return p, nil
	case byChunks:
		out, rest, err := b.coding.decode(p)
		if err != nil {
			return nil, err
		}
		if b.coding.done() {
			b.ended = true
			b.reusable = b.reusable && len(rest) == 0
		}
		return out, nil
	}
	return p, nil
}

// close ends reading. The connection is kept only after the whole body.
func (b *Body) close() {
	b.releaseBlock()
	b.SetReadDeadline(time.Time{})
	if b.release != nil {
		b.release(b.reusable && (b.ended || (b.framing == byLength && b.remaining == 0)))
		b.release = nil
	}
}
