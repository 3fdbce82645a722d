// Package closing closes final requests when nothing waits for them, so that the memory of a
// process and the time of its start concern open requests only. Read [Closer].
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
	// delay is the time without a change after which a request may be closed: a request that
	// is released, or whose result comes, changes again at once.
	delay = 2 * time.Second
	// batch is the number of requests that one look is at: the first load of a large state has
	// many, and others wait meanwhile.
	batch = 10_000
)

// Closer closes final requests. It is safe for concurrent use.
type Closer struct {
	store interface {
		CloseRequest(id string, revision uint64)
	}
	now   func() time.Time
	waits []func(Ended) bool

	mu    sync.Mutex
	ended map[string]*Ended
	work  map[string]int // writes in progress that concern a request
}

// Ended is a final request that is open.
type Ended struct {
	ID, Run, Turn string

	revision uint64
	seen     time.Time   // when this process read or wrote the revision
	result   func() bool // whether its result is awaited; nil: it is not
}

// New returns a closer of the requests in a store.
func New(store approvals.RequestStore, now func() time.Time) *Closer {
	return &Closer{store: store, now: now, ended: map[string]*Ended{}, work: map[string]int{}}
}

// Unless adds a reason to keep a request open. Call it before the other methods. It is called
// with a lock held and must not wait.
func (c *Closer) Unless(waits func(Ended) bool) { c.waits = append(c.waits, waits) }

// Changed keeps a final request open until nothing waits for it. Result reports whether its
// result is awaited; nil: it is not.
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

// Begin marks writes in progress that concern requests, which stay open until end is called.
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

// Run closes requests until the context ends. It begins when ready is closed: before, a request
// may need a repair that is not known yet.
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

// Close closes all requests for which nothing waits. Call it after Run, when nothing else writes.
func (c *Closer) Close() { c.close(0, math.MaxInt) }

// close looks at some requests, and closes those that have not changed for a time and for which
// nothing waits.
func (c *Closer) close(unchanged time.Duration, most int) {
	for _, r := range c.take(c.now().Add(-unchanged), most) {
		c.store.CloseRequest(r.ID, r.revision)
	}
}

// take looks at some requests, in random order, and removes and returns those for which nothing
// waits and that have not changed since a time.
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
