package agentconn

import (
	"errors"
	"sync/atomic"

	"github.com/heldcall/heldcall/internal/memory"
)

// ErrNoMemory is returned when a budget has no room for a body.
var ErrNoMemory = errors.New("no memory is left for the request body")

// ErrNeverFits is returned for a body that needs more than the budget has while nothing else uses it.
var ErrNeverFits = errors.New("the request body needs more memory than there is")

// bodyMemory is the memory that a connection's current request has reserved, and the part
// of its body that was read in advance.
type bodyMemory struct {
	budget   *memory.Budget
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
	if !b.budget.Reserve(int64(n)) {
		return false
	}
	b.reserved.Add(int64(n))
	return true
}

// ResizeMemory makes the reservation n bytes: while a body arrives it is more than afterwards, and a small body
// has none. It reports false, and leaves the reservation as it is, if fewer are left.
func (b *bodyMemory) ResizeMemory(n int) bool {
	reserved := b.reserved.Load()
	if int64(n) > reserved {
		return b.ReserveMemory(n - int(reserved))
	}
	if b.reserved.CompareAndSwap(reserved, int64(n)) { // else it was released
		b.budget.Release(reserved - int64(n))
	}
	return true
}

// ReturnMemory returns n bytes of the reservation to the budget.
func (b *bodyMemory) ReturnMemory(n int) {
	b.ResizeMemory(max(0, int(b.reserved.Load())-n))
}

// ReleaseMemory returns the reservation of the connection's request to the budget.
// It may run beside the other methods.
func (b *bodyMemory) ReleaseMemory() {
	if n := b.reserved.Swap(0); n > 0 {
		b.budget.Release(n)
	}
}
