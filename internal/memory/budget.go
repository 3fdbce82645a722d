package memory

import (
	"math"
	"sync/atomic"
)

// Budget bounds the bytes of memory that all users of the process have reserved together: bodies of requests
// while they arrive and while they are answered, kept parts of answers, calls that wait for people, and what
// bots have not read. It is safe for concurrent use. A nil *Budget has no limit.
type Budget struct {
	limit int64
	used  atomic.Int64
}

const (
	// smallBytes is the largest reservation that may take from the last part of the budget, so that large
	// requests do not keep out small ones.
	smallBytes = 128 << 10
	// lastPart divides the limit: the last part is the quotient.
	lastPart = 8
)

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used returns the number of bytes that are reserved.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Most returns the largest number of bytes that one user can reserve while there is no other.
func (b *Budget) Most() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.limit - b.limit/lastPart
}

// Reserve takes n bytes. It reports false, and takes none, if fewer are left.
func (b *Budget) Reserve(n int64) bool {
	if b == nil || n <= 0 {
		return true
	}
	limit := b.limit
	if n > smallBytes {
		limit = b.Most()
	}
	if b.used.Add(n) > limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// Leaves reports whether n bytes can be reserved and as many more, or nothing is
// reserved yet. So agents that begin chunked bodies, which costs them nothing, do not
// keep out those that send their bodies.
func (b *Budget) Leaves(n int64) bool {
	used := b.Used()
	return b == nil || used == 0 || used+2*n <= b.Most()
}

// Release returns n bytes that were reserved.
func (b *Budget) Release(n int64) {
	if b != nil {
		b.used.Add(-n)
	}
}
