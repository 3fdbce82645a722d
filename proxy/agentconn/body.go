package agentconn

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

const (
	// ReadBufferSize is the size in bytes of the HTTP server's read buffer: what the
	// server may have read of a body when [Conn.AdmitBody] is called.
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

// ErrNoMemory is returned when a [Budget] has no room for a body.
var ErrNoMemory = errors.New("no memory is left for the request body")

// Budget bounds the bytes of memory that all requests use: their bodies, while they
// arrive and while they are answered, and large calls that wait for reviewers. It is
// safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used returns the number of bytes that are reserved.
func (b *Budget) Used() int64 { return b.used.Load() }

// reserve takes n bytes. It reports false, and takes none, if fewer are left.
func (b *Budget) reserve(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// leaves reports whether n bytes can be reserved and as many more, or nothing is
// reserved yet. So agents that begin chunked bodies, which costs them nothing, do not
// keep out those that send their bodies.
func (b *Budget) leaves(n int64) bool {
	used := b.used.Load()
	return used == 0 || used+2*n <= b.limit
}

func (b *Budget) release(n int64) { b.used.Add(-n) }

// bodyMemory is what a connection has in memory of the current request's body.
type bodyMemory struct {
	budget   *Budget
	reserved atomic.Int64 // bytes of budget
	pieces   [][]byte     // of a large body, read before the server allocates memory for it
}

// read takes bytes of the pieces.
func (b *bodyMemory) read(p []byte) int {
	n := copy(p, b.pieces[0])
	if b.pieces[0] = b.pieces[0][n:]; len(b.pieces[0]) == 0 {
		b.pieces[0] = nil
		b.pieces = b.pieces[1:]
	}
	return n
}

// AdmitBody reserves memory for a body of n bytes, -1 for a chunked one of at most
// limit bytes, and reads a large one before it returns. An agent that waits for 100
// Continue gets it; another gets none, although the server writes it. The error is
// [ErrNoMemory], or that of the connection, and leaves no memory reserved.
func (c *Conn) AdmitBody(n, limit int, waits bool) error {
	c.ReleaseMemory()
	c.skipContinue = false
	err := c.admitBody(n, limit, waits)
	if err != nil {
		c.body.pieces = nil
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
		if !c.body.budget.leaves(int64(n)) {
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
		c.body.pieces = append(c.body.pieces, piece)
		n -= size
	}
	return c.Conn.SetReadDeadline(time.Now().Add(pieceTimeout))
}

// ReserveMemory takes n bytes of the budget for the connection's request, until
// ReleaseMemory. It reports false, and takes none, if fewer are left.
func (c *Conn) ReserveMemory(n int) bool {
	if !c.body.budget.reserve(int64(n)) {
		return false
	}
	c.body.reserved.Add(int64(n))
	return true
}

// ShrinkMemory returns what is reserved beyond n bytes to the budget: a chunked body
// has reserved the most that it could have.
func (c *Conn) ShrinkMemory(n int) {
	reserved := c.body.reserved.Load()
	if reserved > int64(n) && c.body.reserved.CompareAndSwap(reserved, int64(n)) {
		c.body.budget.release(reserved - int64(n))
	}
}

// ReleaseMemory returns what is reserved for the connection's request to the budget.
// It may run beside the other methods.
func (c *Conn) ReleaseMemory() {
	if n := c.body.reserved.Swap(0); n > 0 {
		c.body.budget.release(n)
	}
}
