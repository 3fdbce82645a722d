package agentconn

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

const (
	// ReadBuffer is the size in bytes of the HTTP server's read buffer: what the server
	// may have read of a body when [Conn.Admit] is called.
	ReadBuffer = 16 << 10
	// The HTTP server allocates and clears what Content-Length announces before it reads.
	// A body above this size is read here first, so that memory grows with what arrives.
	largeBody = 1 << 20
	// The pieces that a large body is read in, and how long each may take.
	bodyPiece     = 256 << 10
	pieceTimeout  = 10 * time.Second
	continueBytes = "HTTP/1.1 100 Continue\r\n\r\n"
)

// ErrNoMemory is returned where a [Budget] has no room for a body.
var ErrNoMemory = errors.New("no memory is left for the request body")

// Budget bounds the bytes that all requests have in memory: their bodies, while
// they arrive and while they are answered, and large calls that people are asked
// about. It is safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used is the number of bytes that are reserved.
func (b *Budget) Used() int64 { return b.used.Load() }

// take reserves n bytes. It reports false, and reserves none, where they are not
// left.
func (b *Budget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *Budget) give(n int64) { b.used.Add(-n) }

// MuteContinue drops the next 100 Continue that is written: the agent did not ask for
// it.
func (a *Conn) MuteContinue() { a.muteContinue = true }

// Admit reserves memory for a body of n bytes, -1 for one in chunks of up to limit
// bytes in all, and waits until a large one has arrived. The error is ErrNoMemory, or
// that of the connection.
func (a *Conn) Admit(b *Budget, n, limit int) error {
	a.Release()
	if n > largeBody {
		return a.readAhead(b, n-ReadBuffer-a.ahead.buffered())
	}
	pieces := n / bodyPiece
	if n < 0 {
		n, pieces = limit, limit/bodyPiece
	}
	if !a.Reserve(b, n) {
		return ErrNoMemory
	}
	return a.Conn.SetReadDeadline(time.Now().Add(pieceTimeout * time.Duration(pieces+1)))
}

// readAhead reads n bytes of a body, piece by piece. What the server has in its
// buffer is at most ReadBuffer bytes, so no byte of a later request is read.
func (a *Conn) readAhead(b *Budget, n int) error {
	if !a.Reserve(b, ReadBuffer) {
		return ErrNoMemory
	}
	for n > 0 {
		size := min(n, bodyPiece)
		if !a.Reserve(b, size) {
			return ErrNoMemory
		}
		if err := a.Conn.SetReadDeadline(time.Now().Add(pieceTimeout)); err != nil {
			return err
		}
		piece := make([]byte, size)
		if _, err := io.ReadFull(a.Conn, piece); err != nil {
			return err
		}
		a.pieces = append(a.pieces, piece)
		n -= size
	}
	return a.Conn.SetReadDeadline(time.Now().Add(pieceTimeout))
}

// readPieces takes bytes of the pieces that were read.
func (a *Conn) readPieces(p []byte) int {
	n := copy(p, a.pieces[0])
	if a.pieces[0] = a.pieces[0][n:]; len(a.pieces[0]) == 0 {
		a.pieces[0] = nil
		a.pieces = a.pieces[1:]
	}
	return n
}

// Reserve takes n bytes of a budget for the connection's request, until Release. It
// reports false, and takes none, where they are not left.
func (a *Conn) Reserve(b *Budget, n int) bool {
	if !b.take(int64(n)) {
		return false
	}
	a.budget = b
	a.reserved.Add(int64(n))
	return true
}

// Release returns what is reserved for the connection's request.
func (a *Conn) Release() {
	if n := a.reserved.Swap(0); n > 0 {
		a.budget.give(n)
	}
}
