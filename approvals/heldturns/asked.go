package heldturns

import (
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// asked are the requests of a turn.
type asked struct {
	about   approvals.Event // the fields of the turn's events that its requests have
	pending map[string]bool // ids
	ended   time.Time       // when the last request became final; zero: none has
}

// decided reports whether all requests of a turn are final.
func (q *asked) decided() bool { return q != nil && len(q.pending) == 0 && !q.ended.IsZero() }

// requestChanged applies the state of a request.
func (x *index) requestChanged(r *approvals.Request) {
	if r.TurnID == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	t, q := x.turns[r.TurnID], x.requests[r.TurnID]
	stored := t != nil && !t.ended
	if q == nil {
		if r.Status.Final() && !stored {
			return
		}
		q = &asked{pending: map[string]bool{}, about: approvals.Event{
			Tenant: r.Principal.Tenant, Principal: r.Principal, SessionID: r.SessionID, RunID: r.RunID, TurnID: r.TurnID, Dialect: r.Dialect, Model: r.Model,
		}}
		x.requests[r.TurnID] = q
	}
	if !r.Status.Final() {
		q.pending[r.ID] = true
		return
	}
	delete(q.pending, r.ID)
	if at := r.Details.EndedAt; at != nil && at.After(q.ended) {
		q.ended = *at
	}
	switch {
	case len(q.pending) > 0:
	case stored:
		x.touchLocked(r.TurnID)
	default:
		delete(x.requests, r.TurnID)
	}
}

// pendingRequests returns the ids of the pending requests of a turn, and whether others are
// final.
func (x *index) pendingRequests(turn string) (ids []string, decided bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	q := x.requests[turn]
	if q == nil {
		return nil, false
	}
	for id := range q.pending {
		ids = append(ids, id)
	}
	return ids, !q.ended.IsZero()
}
