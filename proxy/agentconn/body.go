package agentconn

import (
	"io"
	"time"

	"github.com/heldcall/heldcall/internal/memory"
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
// limit bytes, and reads a large one before it returns. A large one is in memory twice until the server has it
// too: see [Conn.ResizeMemory]. An agent that waits for 100
// Continue gets it; another gets none, although the server writes it. The error is
// [ErrNoMemory], [ErrNeverFits] or that of the connection, and leaves no memory reserved.
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
		if 2*int64(n) > c.budget.Most() {
			return ErrNeverFits
		}
		if waits {
			if _, err := c.Write([]byte(continueBytes)); err != nil {
				return err
			}
		}
		if err := c.readLargeBody(n - ReadBufferSize - c.in.buffered()); err != nil {
			return err
		}
		if !c.ReserveMemory(n) { // for the server
			return ErrNoMemory
		}
		return c.Conn.SetReadDeadline(time.Now().Add(pieceTimeout))
	}
	timeout := pieceTimeout * time.Duration(n/bodyPiece+1)
	if n < 0 {
		n, timeout = int(min(chunkedBytes(limit), c.budget.Most())), chunkedTimeout
		if !c.budget.Leaves(int64(n)) {
			return ErrNoMemory
		}
	}
	if int64(n) > c.budget.Most() {
		return ErrNeverFits
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
	return nil
}

// chunkedBytes is how much memory a chunked body of at most limit bytes takes: it grows to twice its size again
// and again, and is copied then.
func chunkedBytes(limit int) int64 { return int64(limit) / 2 * 3 }

// MostChunked is how many bytes a chunked body may have so that a budget has room for it.
func MostChunked(b *memory.Budget) int { return int(b.Most() / 3 * 2) }
