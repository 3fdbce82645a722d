// Package closing closes final requests when nothing waits for them: a later start does not read
// closed requests. Read [Closer].
package closing

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// interval is the time between two looks at the final requests that are open.
	interval = time.Second
	// delay is the time after the last change before which a request is not closed: a request
	// often changes again soon, when its call is released or its result comes.
	delay = 2 * time.Second
	// batch is the number of requests at one look: after the load of a large state there may be
	// many, and other goroutines wait for the lock.
	batch = 10_000
)

// Store closes requests. [approvals.RequestStore] has its method.
type Store interface {
	CloseRequest(id string, revision uint64)
}

// Closer closes final requests. It is safe for concurrent use.
type Closer struct {
	store Store
	now   func() time.Time
	waits []func(Ended) bool

	mu    sync.Mutex
	ended map[string]*Ended
	work  map[string]int // writes in progress, by the request that they concern
}

// Ended is a final request that is open.
type Ended struct {
	ID, Run, Turn string

	revision uint64
	seen     time.Time   // when this process read or wrote the revision
	result   func() bool // reports whether its result is awaited; nil: it is not
}

// New returns a closer of the requests in a store.
func New(store Store, now func() time.Time) *Closer {
	return &Closer{store: store, now: now, ended: map[string]*Ended{}, work: map[string]int{}}
}

// Unless keeps requests open while waits reports true for them. Call it before the other methods.
// waits is called with a lock held and must not block.
func (c *Closer) Unless(waits func(Ended) bool) { c.waits = append(c.waits, waits) }

// Changed adds a revision of a request, which is closed when nothing waits for it. A request that
// is not final is ignored. result reports whether the request's result is awaited; nil: it is not.
func (c *Closer) Changed(s *approvals.Stored, result func() bool) {
	r := &s.Request
	if !r.Status.Final() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.ended[r.ID]; known == nil || known.revision < s.Revision {
		c.ended[r.ID] = &Ended{r.ID, r.RunID, r.TurnID, s.Revision, c.now(), result}
	}
}

// Begin marks that writes are in progress that concern requests. The requests stay open until end is
// called.
func (c *Closer) Begin(requests ...approvals.Request) (end func()) {
	ids := make([]string, len(requests))
	for i := range requests {
		ids[i] = requests[i].ID
	}
	c.count(ids, 1)
	return func() { c.count(ids, -1) }
}

func (c *Closer) count(ids []string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if c.work[id] += n; c.work[id] == 0 {
			delete(c.work, id)
		}
	}
}

// Run closes requests until the context ends. It begins when ready is closed: until then it is not
// known which requests need a repair.
func (c *Closer) Run(ctx context.Context, ready <-chan struct{}) {
	select {
	case <-ready:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.close(delay, batch)
		}
	}
}

// Close closes all requests for which nothing waits. Call it after [Closer.Run], when nothing else
// writes.
func (c *Closer) Close() { c.close(0, math.MaxInt) }

// close closes the requests that take returns.
func (c *Closer) close(unchanged time.Duration, most int) {
	for _, r := range c.take(c.now().Add(-unchanged), most) {
		c.store.CloseRequest(r.ID, r.revision)
	}
}

// take looks at some requests in random order. It removes and returns those for which nothing waits and
// that have not changed since a time.
func (c *Closer) take(before time.Time, most int) (done []*Ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, r := range c.ended {
		if most--; most < 0 {
			return done
		}
		if !r.seen.After(before) && c.work[id] == 0 && !c.waitsFor(r) {
			done = append(done, r)
			delete(c.ended, id)
		}
	}
	return done
}

func (c *Closer) waitsFor(r *Ended) bool {
	for _, waits := range c.waits {
		if waits(*r) {
			return true
		}
	}
	return r.result != nil && r.result()
}
