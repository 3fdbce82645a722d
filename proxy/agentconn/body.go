package agentconn

import (
	"io"
	"time"
)

const (
	// ReadBufferSize is the size in bytes of the HTTP server's read buffer, which may
	// contain the beginning of a body when [Conn.AdmitBody] is called.
	ReadBufferSize = 16 << 10
	// The HTTP server allocates and clears what Content-Length announces before it reads.
	// A body above this size is read here first, so that memory grows with what arrives.
	largeBody = 1 << 20
	// The pieces that a large body is read in, and how long each may take.
	bodyPiece    = 256 << 10
	pieceTimeout = 10 * time.Second
	// How long a chunked body may take, which reserves the most that it may have.
	chunkedTimeout = 30 * time.Second
)

// AdmitBody reserves memory for a body of n bytes, -1 for a chunked one of at most
// limit bytes, and reads a large one before it returns. An agent that waits for 100
// Continue gets it; another gets none, although the server writes it. The error is
// [ErrNoMemory], or that of the connection, and leaves no memory reserved.
func (c *Conn) AdmitBody(n, limit int, waits bool) error {
	c.ReleaseMemory()
	c.skipContinue = false
	err := c.admitBody(n, limit, waits)
	if err != nil {
		c.pieces = nil
		c.ReleaseMemory()
		return err
	}
	c.skipContinue = !waits || n > largeBody
	return nil
}

func (c *Conn) admitBody(n, limit int, waits bool) error {
	if n > largeBody {
		if waits {
			if _, err := c.Write([]byte(continueBytes)); err != nil {
				return err
			}
		}
		return c.readLargeBody(n - ReadBufferSize - c.in.buffered())
	}
	timeout := pieceTimeout * time.Duration(n/bodyPiece+1)
	if n < 0 {
		n, timeout = limit, chunkedTimeout
		if !c.budget.leaves(int64(n)) {
			return ErrNoMemory
		}
	}
	if !c.ReserveMemory(n) {
		return ErrNoMemory
	}
	return c.Conn.SetReadDeadline(time.Now().Add(timeout))
}

// readLargeBody reads n bytes of a body in pieces. The server's buffer contains at
// most ReadBufferSize bytes of it, so no byte of a later request is read.
func (c *Conn) readLargeBody(n int) error {
	if !c.ReserveMemory(ReadBufferSize) {
		return ErrNoMemory
	}
	for n > 0 {
		size := min(n, bodyPiece)
		if !c.ReserveMemory(size) {
			return ErrNoMemory
		}
		if err := c.Conn.SetReadDeadline(time.Now().Add(pieceTimeout)); err != nil {
			return err
		}
		piece := make([]byte, size)
		if _, err := io.ReadFull(c.Conn, piece); err != nil {
			return err
		}
		c.pieces = append(c.pieces, piece)
		n -= size
	}
	return c.Conn.SetReadDeadline(time.Now().Add(pieceTimeout))
}
