package agentconn

import (
	"bytes"
	"net"
	"strconv"
	"sync"
)

// ChunkWriter writes chunks of the chunked transfer coding (RFC 9112 section
// 7.1) to a connection, each with one system call and without a copy. What fasthttp
// has written before it and not yet sent goes with the first: the head of the
// answer. fasthttp writes the last chunk after. The zero value is ready for Begin.
type ChunkWriter struct {
	conn    *Conn // nil: not in use yet
	size    [18]byte
	pieces  [4][]byte
	buffers net.Buffers
}

var crlf = []byte("\r\n")

// Begin makes the connection the one that chunks are written to.
func (c *ChunkWriter) Begin(conn *Conn) { c.conn = conn }

// Begun reports whether Begin was called.
func (c *ChunkWriter) Begun() bool { return c.conn != nil }

// Write sends p as a chunk, after what the connection has kept back.
func (c *ChunkWriter) Write(p []byte) error {
	if c.conn.cork.kept == nil {
		return c.write(nil, p)
	}
	return c.conn.cork.pull(func(head []byte) error { return c.write(head, p) })
}

// write sends p as a chunk, behind what stands before it.
func (c *ChunkWriter) write(before, p []byte) error {
	size := append(strconv.AppendUint(c.size[:0], uint64(len(p)), 16), '\r', '\n')
	c.pieces = [4][]byte{before, size, p, crlf}
	c.buffers = c.pieces[:]
	if len(before) == 0 {
		c.buffers = c.pieces[1:]
	}
	_, err := c.buffers.WriteTo(c.conn.Conn)
	c.pieces = [4][]byte{}
	return err
}

// KeepHead keeps back what is written until the first chunk or Flush: the head of an
// answer.
func (a *Conn) KeepHead() { a.cork.in = true }

// KeepWhole keeps back what is written until a head and n bytes of a body are there,
// and sends them in one.
func (a *Conn) KeepWhole(n int) { a.cork = cork{in: true, body: n} }

// KeepEnd keeps back what is written until the end of a body in chunks, and sends it
// in one.
func (a *Conn) KeepEnd() { a.cork = cork{in: true, until: endOfChunks} }

// Kept reports whether something is kept back.
func (a *Conn) Kept() bool { return a.cork.kept != nil }

// Drop forgets what was kept back, and keeps nothing from then on.
func (a *Conn) Drop() { a.cork = cork{} }

// WriteNow sends p, whatever is kept back.
func (a *Conn) WriteNow(p []byte) error {
	_, err := a.Conn.Write(p)
	return err
}

// heads are buffers for what is kept back.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// cork keeps back what is written to an agent's connection by pieces, so that it
// goes out in one. The zero value keeps nothing.
type cork struct {
	in    bool
	until []byte  // what the last piece ends in, nil where it ends otherwise
	body  int     // of a whole answer: the bytes behind its head, 0 where somebody else takes it all
	kept  *[]byte // nil for nothing
}

// endOfChunks ends a body in chunks, behind any trailers.
var endOfChunks = []byte("\r\n\r\n")

// add takes a piece, and reports whether it was the last.
func (c *cork) add(p []byte) (last bool) {
	if c.kept == nil {
		c.kept = heads.Get().(*[]byte)
	}
	*c.kept = append(*c.kept, p...)
	if c.body > 0 {
		head := bytes.Index(*c.kept, endOfHead)
		return head >= 0 && len(*c.kept) >= head+len(endOfHead)+c.body
	}
	return c.until != nil && bytes.HasSuffix(*c.kept, c.until)
}

// endOfHead ends the head of an answer.
var endOfHead = []byte("\r\n\r\n")

// pull sends what was kept with send, and keeps nothing from then on.
func (c *cork) pull(send func(kept []byte) error) (err error) {
	kept := c.kept
	*c = cork{}
	if kept != nil {
		err = send(*kept)
		*kept = (*kept)[:0]
		heads.Put(kept)
	}
	return err
}
