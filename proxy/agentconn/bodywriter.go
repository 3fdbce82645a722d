package agentconn

import (
	"io"
	"net"
	"strconv"
)

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
