package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	smallBlock = 4 << 10  // while waiting for an idle stream
	bigBlock   = 32 << 10 // while a stream keeps coming
)

var (
	smallBlocks = sync.Pool{New: func() any { b := make([]byte, smallBlock); return &b }}
	bigBlocks   = sync.Pool{New: func() any { b := make([]byte, bigBlock); return &b }}
)

// Body reads the body of an upstream's answer block by block: all that one read
// brought, with the chunked coding taken out in place, so that what goes on to
// the agent is one write too. It is not safe for concurrent use.
type Body struct {
	conn      net.Conn
	buffered  []byte        // came with the head, lies in reader
	reader    *bufio.Reader // that the head was read with, until buffered is used up
	block     *[]byte
	full      bool // the last read filled its block
	coding    chunked
	framing   framing
	remaining int64 // bytes of a body of known length
	reusable  bool  // the connection may be used again after the body
	ended     bool
	timed     bool // its reads have a deadline
	release   func(reusable bool)
}

type framing int

const (
	byLength framing = iota
	byChunks
	byClose
)

// init prepares reading the body that follows head. It takes the reader over.
func (b *Body) init(conn net.Conn, head *fasthttp.ResponseHeader, reader *bufio.Reader) {
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

// checkEmpty gives up a connection on which something stands behind an answer
// without a body: it would be taken for the next answer.
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

// Buffered reports whether bytes of the body came with the head and are not read yet.
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
		return err // nothing is lost: the next read goes on
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
	}
	b.block = pool.Get().(*[]byte)
	n, err := b.conn.Read(*b.block)
	b.full = n >= smallBlock
	return (*b.block)[:n], err
}

// ReadAll reads the rest of the body, up to a limit.
func (b *Body) ReadAll(limit int) ([]byte, error) {
	var all []byte
	for {
		p, err := b.Next()
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

// SetReadDeadline bounds the reads from now on; the zero time removes the bound.
func (b *Body) SetReadDeadline(deadline time.Time) {
	if timed := !deadline.IsZero(); timed || b.timed {
		b.timed = timed
		_ = b.conn.SetReadDeadline(deadline)
	}
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

// chunked takes the chunked transfer coding (RFC 9112 section 7.1) out of a byte
// stream in place. Trailers are dropped.
type chunked struct {
	state   chunkState
	size    int64 // bytes left of the current chunk
	digits  int
	trailer int // bytes of the current trailer line
}

type chunkState int

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkSizeLF
	chunkData
	chunkCR
	chunkLF
	chunkTrailer
	chunkTrailerLF
	chunkDone
)

var errChunk = errors.New("the chunked coding of the answer is broken")

func (c *chunked) done() bool { return c.state == chunkDone }

// decode returns the data in p, moved to its front, and what stands behind the
// end of the coding.
func (c *chunked) decode(p []byte) (data, rest []byte, err error) {
	n := 0
	for i := 0; i < len(p); {
		if c.state == chunkData {
			k := int(min(c.size, int64(len(p)-i)))
			if n != i {
				copy(p[n:], p[i:i+k])
			}
			n, i, c.size = n+k, i+k, c.size-int64(k)
			if c.size == 0 {
				c.state = chunkCR
			}
			continue
		}
		if c.state == chunkDone {
			return p[:n], p[i:], nil
		}
		if !c.step(p[i]) {
			return nil, nil, errChunk
		}
		i++
	}
	return p[:n], nil, nil
}

// step takes one byte of the coding itself.
func (c *chunked) step(b byte) bool {
	switch c.state {
	case chunkSize:
		return c.sizeByte(b)
	case chunkExtension:
		if b == '\r' {
			c.state = chunkSizeLF
		} else if b == '\n' {
			c.afterSize()
		}
	case chunkSizeLF:
		if b != '\n' {
			return false
		}
		c.afterSize()
	case chunkCR:
		if b == '\n' {
			c.state = chunkSize
			return true
		}
		c.state = chunkLF
		return b == '\r'
	case chunkLF:
		c.state = chunkSize
		return b == '\n'
	case chunkTrailer:
		c.trailerByte(b)
	case chunkTrailerLF:
		return b == '\n' && c.endLine()
	}
	return true
}

func (c *chunked) sizeByte(b byte) bool {
	if d := unhex(b); d >= 0 {
		c.size = c.size<<4 | int64(d)
		c.digits++
		return c.digits <= 15
	}
	if c.digits == 0 {
		return false
	}
	switch b {
	case ';', ' ', '\t':
		c.state = chunkExtension
	case '\r':
		c.state = chunkSizeLF
	case '\n':
		c.afterSize()
	default:
		return false
	}
	return true
}

func (c *chunked) afterSize() {
	c.state = chunkData
	if c.size == 0 {
		c.state = chunkTrailer
	}
	c.digits = 0
}

func (c *chunked) trailerByte(b byte) {
	switch b {
	case '\r':
		c.state = chunkTrailerLF
	case '\n':
		c.endLine()
	default:
		c.trailer++
	}
}

func (c *chunked) endLine() bool {
	c.state = chunkTrailer
	if c.trailer == 0 {
		c.state = chunkDone
	}
	c.trailer = 0
	return true
}

// unhex returns the value of a hexadecimal digit, or -1.
func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
