package agentconn

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"sync"
)

// BufferHead buffers what is written until a [BodyWriter] sends its first bytes: the
// head of an answer in chunks.
func (c *Conn) BufferHead() { c.out.active = true }

// BufferAnswer buffers what is written until it contains a head and bodySize bytes of
// a body, more than 0, and sends that with one system call.
func (c *Conn) BufferAnswer(bodySize int) { c.out = writeBuffer{active: true, bodySize: bodySize} }

// BufferLastChunk sends what is buffered. From then on it buffers what is written
// until the end of a body in chunks, and sends that with one system call.
func (c *Conn) BufferLastChunk() error {
	if err := c.flush(); err != nil {
		return err
	}
	c.out = writeBuffer{active: true, lastChunk: true}
	return nil
}

// DiscardBuffered drops what is buffered and ends buffering.
func (c *Conn) DiscardBuffered() { c.out = writeBuffer{} }

// flush sends what is buffered and ends buffering.
func (c *Conn) flush() error {
	return c.out.flush(func(data []byte) error {
		_, err := c.Conn.Write(data)
		return err
	})
}

// writeBuffer collects what is written to an agent's connection in pieces, so that
// one system call sends it. The zero value buffers nothing.
type writeBuffer struct {
	active    bool
	lastChunk bool    // complete at the end of a body in chunks
	bodySize  int     // complete at a head and so many bytes of a body, if above 0
	data      *[]byte // nil while nothing is buffered
}

// writeBuffers are buffers for heads and small bodies.
var writeBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// blankLine ends the head of an answer, and a body in chunks with its trailers.
var blankLine = []byte("\r\n\r\n")

// add adds a piece, and reports whether it was the last.
func (b *writeBuffer) add(p []byte) (last bool) {
	if b.data == nil {
		b.data = writeBuffers.Get().(*[]byte)
	}
	*b.data = append(*b.data, p...)
	if b.bodySize > 0 {
		head := bytes.Index(*b.data, blankLine)
		return head >= 0 && len(*b.data) >= head+len(blankLine)+b.bodySize
	}
	return b.lastChunk && bytes.HasSuffix(*b.data, blankLine)
}

// flush calls send with what is buffered, if anything is, and ends buffering.
func (b *writeBuffer) flush(send func(data []byte) error) (err error) {
	data := b.data
	*b = writeBuffer{}
	if data != nil {
		err = send(*data)
		*data = (*data)[:0]
		writeBuffers.Put(data)
	}
	return err
}

// BodyWriter writes the body of an answer to an agent's connection. Each write is one
// system call without a copy: a chunk of the chunked transfer coding (RFC 9112 section
// 7.1) if the body is chunked, without the last one. What the connection has buffered
// is sent with the first: the head of the answer. The zero value is ready for Begin.
type BodyWriter struct {
	conn    *Conn     // nil: all goes to server
	server  io.Writer // the HTTP server's writer, which adds the chunked coding itself
	chunked bool
	direct  bool // the server has no bytes that would have to go before

	size    [18]byte
	pieces  [4][]byte
	buffers net.Buffers
}

// Begin sets where the body is written: to conn, or if that is nil to the HTTP
// server's writer.
func (w *BodyWriter) Begin(conn *Conn, server io.Writer, chunked bool) {
	w.conn, w.server, w.chunked = conn, server, chunked
}

// Write writes p. The first chunk of an answer whose head is not buffered here goes
// through the server, which may have the head.
func (w *BodyWriter) Write(p []byte) (int, error) {
	switch {
	case w.conn == nil:
		return w.server.Write(p)
	case !w.chunked:
		return w.conn.Conn.Write(p)
	case w.direct:
		return len(p), w.writeChunk(nil, p)
	case w.conn.out.data != nil:
		w.direct = true
		return len(p), w.conn.out.flush(func(head []byte) error { return w.writeChunk(head, p) })
	}
	n, err := w.server.Write(p)
	w.direct = err == nil
	return n, err
}

var crlf = []byte("\r\n")

// writeChunk sends p as a chunk, after head.
func (w *BodyWriter) writeChunk(head, p []byte) error {
	size := append(strconv.AppendUint(w.size[:0], uint64(len(p)), 16), '\r', '\n')
	w.pieces = [4][]byte{head, size, p, crlf}
	w.buffers = w.pieces[:]
	if len(head) == 0 {
		w.buffers = w.pieces[1:]
	}
	_, err := w.buffers.WriteTo(w.conn.Conn)
	w.pieces = [4][]byte{}
	return err
}
