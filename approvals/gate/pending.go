package gate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// giveUpAfter is the time after its deadline at which a hold ends without an answer if the
// store cannot be reached.
const giveUpAfter = 30 * time.Second

// pending keeps the requests that may still be decided: their timers, and the holds of
// this process that wait for them.
type pending struct {
	timers *scheduler

	mu   sync.Mutex
	byID map[string]*pendingRequest
}

// pendingRequest is a pending request and the holds of this process that wait for it.
type pendingRequest struct {
	createdAt time.Time
	expiresAt time.Time
	timers    []*timer // of its deadline and its escalations
	waiting   []waiter
	recorded  <-chan struct{} // see [pending.recorded]
}

// waiter is a hold that waits for a request, and the index of the request in it.
type waiter struct {
	hold  *Hold
	index int
}

func newPending(timers *scheduler) *pending {
	return &pending{timers: timers, byID: map[string]*pendingRequest{}}
}

// expect adds the requests of a hold before they are recorded: a decision may arrive
// before the write returns. Other holds of a request that is pending wait on.
func (p *pending) expect(h *Hold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range h.requests {
		if q := p.byID[h.requests[i].ID]; q != nil {
			q.waiting = append(q.waiting, waiter{h, i})
			continue
		}
		p.addLocked(&h.requests[i], waiter{h, i}).recorded = h.recorded
	}
}

// recorded returns a channel that is closed when a request of a hold here is recorded, with its event, nil for others.
func (p *pending) recorded(id string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.byID[id]; q != nil {
		return q.recorded
	}
	return nil
}

func (p *pending) isRecording(id string) bool {
	recorded := p.recorded(id)
	select {
	case <-recorded:
		return false
	default:
		return recorded != nil
	}
}

// awaitRecorded waits until a request is not being recorded here, or the context ends.
func (p *pending) awaitRecorded(ctx context.Context, id string) {
	if recorded := p.recorded(id); recorded != nil {
		select {
		case <-recorded:
		case <-ctx.Done():
		}
	}
}

// apply adds a pending request and removes a final one. It returns the holds that wait for
// the request. news reports whether the request is new or has become final.
func (p *pending) apply(r *approvals.Request) (waiting []waiter, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	final := r.Status.Final()
	q := p.byID[r.ID]
	switch {
	case q != nil && final:
		p.removeLocked(r.ID, q)
	case q == nil && final:
		return nil, false
	case q == nil:
		p.addLocked(r)
		return nil, true
	}
	return q.waiting, final
}

func (p *pending) addLocked(r *approvals.Request, waiting ...waiter) *pendingRequest {
	q := &pendingRequest{createdAt: r.CreatedAt, expiresAt: r.ExpiresAt, waiting: waiting}
	q.timers = append(q.timers, &timer{kind: timerExpire, id: r.ID, at: r.ExpiresAt})
	for _, at := range escalationTimes(r) {
		q.timers = append(q.timers, &timer{kind: timerEscalate, id: r.ID, at: at})
	}
	for _, t := range q.timers {
		p.timers.add(t)
	}
	p.byID[r.ID] = q
	return q
}

// remove removes a request that is not in the store.
func (p *pending) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.byID[id]; q != nil {
		p.removeLocked(id, q)
	}
}

func (p *pending) removeLocked(id string, q *pendingRequest) {
	delete(p.byID, id)
	for _, t := range q.timers {
		p.timers.remove(t)
	}
}

// detach removes a hold from its requests, which stay pending.
func (p *pending) detach(h *Hold) {
	requests := h.Requests()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range requests {
		if q := p.byID[requests[i].ID]; q != nil { // apply has returned the old list
			q.waiting = slices.DeleteFunc(slices.Clone(q.waiting), func(w waiter) bool { return w.hold == h })
		}
	}
}

// fail ends the holds of a request with an error.
func (p *pending) fail(id string, err error) {
	waiting, _ := p.find(id)
	for _, w := range waiting {
		w.hold.fail(fmt.Errorf("wait for request %s: %w", id, err))
	}
}

// failOverdue is fail for a request whose deadline passed more than [giveUpAfter] ago.
func (p *pending) failOverdue(id string, now time.Time, err error) {
	if _, deadline := p.find(id); now.After(deadline.Add(giveUpAfter)) {
		p.fail(id, err)
	}
}

// find returns the holds that wait for a request, and its deadline, zero if it is not
// pending.
func (p *pending) find(id string) (waiting []waiter, deadline time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.byID[id]; q != nil {
		return q.waiting, q.expiresAt
	}
	return nil, time.Time{}
}

// waited reports whether a hold of this process, other than one, waits for a request.
func (p *pending) waited(id string, except *Hold) bool {
	waiting, _ := p.find(id)
	return slices.ContainsFunc(waiting, func(w waiter) bool { return w.hold != except })
}

// waiting is the state of the pending requests at one time.
type waiting struct {
	requests int
	oldest   time.Duration // age of the oldest request
	expires  time.Duration // until the first of them expires
}

// count returns the state of the pending requests.
func (p *pending) count(now time.Time) (w waiting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.requests = len(p.byID)
	first := true
	for _, q := range p.byID {
		w.oldest = max(w.oldest, now.Sub(q.createdAt))
		if left := q.expiresAt.Sub(now); first || left < w.expires {
			w.expires, first = left, false
		}
	}
	return w
}
