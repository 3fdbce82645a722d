package gate

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// closeInterval is the time between two looks at the final requests that are open.
	closeInterval = time.Second
	// closeDelay is the time after the last change before which a request is not closed: a request
	// often changes again soon, when its call is released or its result comes.
	closeDelay = 2 * time.Second
	// closeBatch is the number of requests at one look: after the load of a large state there may be
	// many, and other goroutines wait for the lock.
	closeBatch = 10_000
)

// closer closes final requests when nothing waits for them: a later start does not read closed
// requests. It is safe for concurrent use.
type closer struct {
	closeRequest func(id string, revision uint64)
	now          func() time.Time
	waits        []func(endedRequest) bool

	mu    sync.Mutex
	ended map[string]*endedRequest
	work  map[string]int // writes in progress, by the request that they concern
}

// endedRequest is a final request that is open.
type endedRequest struct {
	ID, Run, Turn string

	revision uint64
	seen     time.Time   // when this process read or wrote the revision
	result   func() bool // reports whether its result is awaited; nil: it is not
}

// newCloser returns a closer of requests. closeRequest is that of [approvals.RequestStore].
func newCloser(closeRequest func(id string, revision uint64), now func() time.Time) *closer {
	return &closer{closeRequest: closeRequest, now: now, ended: map[string]*endedRequest{}, work: map[string]int{}}
}

// unless keeps requests open while waits reports true for them. Call it before the other methods.
// waits is called with a lock held and must not block.
func (c *closer) unless(waits func(endedRequest) bool) { c.waits = append(c.waits, waits) }

// changed adds a revision of a request, which is closed when nothing waits for it. A request that
// is not final is ignored. result reports whether the request's result is awaited; nil: it is not.
func (c *closer) changed(s *approvals.Stored, result func() bool) {
	r := &s.Request
	if !r.Status.Final() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if open := c.ended[r.ID]; open == nil || open.revision < s.Revision {
		c.ended[r.ID] = &endedRequest{r.ID, r.RunID, r.TurnID, s.Revision, c.now(), result}
	}
}

// begin marks that writes are in progress that concern requests. The requests stay open until end is
// called.
func (c *closer) begin(requests ...approvals.Request) (end func()) {
	ids := make([]string, len(requests))
	for i := range requests {
		ids[i] = requests[i].ID
	}
	c.count(ids, 1)
	return func() { c.count(ids, -1) }
}

func (c *closer) count(ids []string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if c.work[id] += n; c.work[id] == 0 {
			delete(c.work, id)
		}
	}
}

// run closes requests until the context ends. It begins when ready is closed: until then it is not
// known which requests need a repair.
func (c *closer) run(ctx context.Context, ready <-chan struct{}) {
	select {
	case <-ready:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(closeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.close(closeDelay, closeBatch)
		}
	}
}

// closeAll closes all requests for which nothing waits. Call it after [closer.Run], when nothing else
// writes.
func (c *closer) closeAll() { c.close(0, math.MaxInt) }

// close closes the requests that take returns.
func (c *closer) close(unchanged time.Duration, most int) {
	for _, r := range c.take(c.now().Add(-unchanged), most) {
		c.closeRequest(r.ID, r.revision)
	}
}

// take looks at some requests in random order. It removes and returns those for which nothing waits and
// that have not changed since a time.
func (c *closer) take(before time.Time, most int) (done []*endedRequest) {
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

func (c *closer) waitsFor(r *endedRequest) bool {
	for _, waits := range c.waits {
		if waits(*r) {
			return true
		}
	}
	return r.result != nil && r.result()
}
