package agentconn

import (
	"bytes"
	"sync"
)

// writeBuffer collects the writes to an agent's connection, so that one system call
// sends them. The zero value buffers nothing.
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

// flush calls send with the buffered bytes, if there are any, and ends buffering.
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
