package gate

import (
	"fmt"
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

// pendingRequest is a pending request and the hold of this process that waits for it.
type pendingRequest struct {
	createdAt time.Time
	expiresAt time.Time
	timers    []*timer // of its deadline and its escalations
	hold      *Hold
	index     int  // of the request in hold
	recording bool // it may not be in the store yet
}

func newPending(timers *scheduler) *pending {
	return &pending{timers: timers, byID: map[string]*pendingRequest{}}
}

// expect adds the requests of a hold before they are recorded: a decision may arrive
// before the write returns. A request that is pending has the new hold from now on.
func (p *pending) expect(h *Hold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range h.requests {
		if q := p.byID[h.requests[i].ID]; q != nil {
			q.hold, q.index = h, i
			continue
		}
		p.addLocked(&h.requests[i], h, i).recording = true
	}
}

// recorded marks the end of the writes of the requests of a hold.
func (p *pending) recorded(h *Hold) {
	requests := h.Requests()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range requests {
		if q := p.byID[requests[i].ID]; q != nil {
			q.recording = false
		}
	}
}

func (p *pending) isRecording(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.byID[id]
	return q != nil && q.recording
}

// apply adds a pending request and removes a final one. It returns the hold that waits for
// the request and the index of the request in it. news reports whether the request is new
// or has become final.
func (p *pending) apply(r *approvals.Request) (h *Hold, index int, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	final := r.Status.Final()
	q := p.byID[r.ID]
	switch {
	case q != nil && final:
		p.removeLocked(r.ID, q)
	case q == nil && final:
		return nil, 0, false
	case q == nil:
		p.addLocked(r, nil, 0)
		return nil, 0, true
	}
	return q.hold, q.index, final
}

func (p *pending) addLocked(r *approvals.Request, h *Hold, index int) *pendingRequest {
	q := &pendingRequest{createdAt: r.CreatedAt, expiresAt: r.ExpiresAt, hold: h, index: index}
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
		if q := p.byID[requests[i].ID]; q != nil && q.hold == h {
			q.hold = nil
		}
	}
}

// fail ends the hold of a request with an error.
func (p *pending) fail(id string, err error) {
	if h, _ := p.find(id); h != nil {
		h.fail(fmt.Errorf("wait for request %s: %w", id, err))
	}
}

// failOverdue is fail for a request whose deadline passed more than [giveUpAfter] ago.
func (p *pending) failOverdue(id string, now time.Time, err error) {
	if _, deadline := p.find(id); now.After(deadline.Add(giveUpAfter)) {
		p.fail(id, err)
	}
}

// find returns the hold that waits for a request, if one does, and the deadline of the
// request, zero if it is not pending.
func (p *pending) find(id string) (h *Hold, deadline time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.byID[id]; q != nil {
		return q.hold, q.expiresAt
	}
	return nil, time.Time{}
}

// count returns the number of pending requests and the age of the oldest.
func (p *pending) count(now time.Time) (n int, oldest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.byID {
		oldest = max(oldest, now.Sub(q.createdAt))
	}
	return len(p.byID), oldest
}
