package agentconn

import (
	"errors"
	"sync/atomic"
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

// bodyMemory is the memory that a connection's current request has reserved, and the part
// of its body that was read in advance.
type bodyMemory struct {
	budget   *Budget
	reserved atomic.Int64 // bytes of budget
	pieces   [][]byte     // of a large body, read before the server allocates memory for it
}

// readPiece takes bytes of the pieces.
func (b *bodyMemory) readPiece(p []byte) int {
	n := copy(p, b.pieces[0])
	if b.pieces[0] = b.pieces[0][n:]; len(b.pieces[0]) == 0 {
		b.pieces[0] = nil
		b.pieces = b.pieces[1:]
	}
	return n
}

// ReserveMemory takes n bytes of the budget for the connection's request, until
// ReleaseMemory. It reports false, and takes none, if fewer are left.
func (b *bodyMemory) ReserveMemory(n int) bool {
	if !b.budget.reserve(int64(n)) {
		return false
	}
	b.reserved.Add(int64(n))
	return true
}

// ShrinkMemory returns the reservation beyond n bytes to the budget: for a chunked body
// the largest possible size is reserved.
func (b *bodyMemory) ShrinkMemory(n int) {
	reserved := b.reserved.Load()
	if reserved > int64(n) && b.reserved.CompareAndSwap(reserved, int64(n)) {
		b.budget.release(reserved - int64(n))
	}
}

// ReleaseMemory returns the reservation of the connection's request to the budget.
// It may run beside the other methods.
func (b *bodyMemory) ReleaseMemory() {
	if n := b.reserved.Swap(0); n > 0 {
		b.budget.release(n)
	}
}
