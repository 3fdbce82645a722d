package proxy

import (
	"net"
	"strconv"
)

// chunkWriter writes chunks of the chunked transfer coding (RFC 9112 section
// 7.1) to a connection, each with one system call and without a copy. fasthttp
// has written the head and flushed it before, and writes the last chunk after.
type chunkWriter struct {
	conn    net.Conn // nil: not in use yet
	size    [18]byte
	pieces  [3][]byte
	buffers net.Buffers
}

var crlf = []byte("\r\n")

func (c *chunkWriter) write(p []byte) error {
	size := append(strconv.AppendUint(c.size[:0], uint64(len(p)), 16), '\r', '\n')
	c.pieces = [3][]byte{size, p, crlf}
	c.buffers = c.pieces[:]
	_, err := c.buffers.WriteTo(c.conn)
	c.pieces = [3][]byte{}
	return err
}
