package heldturns

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// requests has the requests of turns: of those that are stored, and the pending ones of
// others, which may be stored by another process and not known yet.
type requests struct {
	mu     sync.RWMutex
	byTurn map[string]*asked
}

// asked are the requests of a turn.
type asked struct {
	about   about
	pending map[string]bool // whether a request is pending, by its id
	waits   int             // pending requests
	ended   time.Time       // when the last request became final; zero: none has
}

// about has the fields of the turn's events that its requests have.
type about struct {
	principal                          approvals.Principal
	session, run, turn, dialect, model string
}

// changed applies the state of a request. It reports whether all known requests of a stored
// turn are final.
func (x *requests) changed(r *approvals.Request, stored func(turn string) bool) bool {
	if r.TurnID == "" {
		return false
	}
	held := stored(r.TurnID)
	x.mu.Lock()
	defer x.mu.Unlock()
	q := x.byTurn[r.TurnID]
	if q == nil {
		if r.Status.Final() && !held {
			return false
		}
		q = &asked{pending: map[string]bool{}, about: about{r.Principal, r.SessionID, r.RunID, r.TurnID, r.Dialect, r.Model}}
		x.byTurn[r.TurnID] = q
	}
	q.set(r.ID, !r.Status.Final())
	if at := r.Details.EndedAt; at != nil && at.After(q.ended) {
		q.ended = *at
	}
	if q.waits == 0 && !held {
		delete(x.byTurn, r.TurnID)
	}
	return q.waits == 0 && held
}

// set sets whether a request is pending. One that is final stays final: an older state of it may arrive later.
func (q *asked) set(id string, pending bool) {
	was, known := q.pending[id]
	if known && !was {
		return
	}
	if was {
		q.waits--
	}
	if q.pending[id] = pending; pending {
		q.waits++
	}
}

// drop forgets the requests of a turn.
func (x *requests) drop(turn string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byTurn, turn)
}

// state returns the number of pending requests of a turn, and when the last one became
// final, zero if none has.
func (x *requests) state(turn string) (pending int, ended time.Time) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if q := x.byTurn[turn]; q != nil {
		return q.waits, q.ended
	}
	return 0, time.Time{}
}

// of returns the ids of the requests of a turn that are pending, and of those that are
// final.
func (x *requests) of(turn string) (pending, final []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if q := x.byTurn[turn]; q != nil {
		for id, waits := range q.pending {
			if waits {
				pending = append(pending, id)
			} else {
				final = append(final, id)
			}
		}
	}
	return pending, final
}

// eventTypes are the types of the events of the states.
var eventTypes = map[approvals.AttachState]approvals.EventType{
	approvals.AgentAttached: approvals.EventTurnReattached,
	approvals.AgentDetached: approvals.EventTurnDetached,
	approvals.AgentParked:   approvals.EventTurnParked,
}

// stateEvents returns the events of the recorded state of a turn, one for each of its
// requests. Their ids depend on the record only: any process can write the same events.
// There are none for a turn without requests: no person was asked.
func (x *requests) stateEvents(s State) (events []approvals.Event) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	q, typ := x.byTurn[s.ID], eventTypes[s.State]
	if q == nil || typ == "" || !s.DeliveredAt.IsZero() {
		return nil
	}
	for _, request := range slices.Sorted(maps.Keys(q.pending)) {
		events = append(events, q.event(s, typ, request, s.Since))
	}
	return events
}

// readyEvents returns the event of a turn without an agent whose requests are all final. It
// is about the first of them.
func (x *requests) readyEvents(s State) []approvals.Event {
	x.mu.RLock()
	defer x.mu.RUnlock()
	q := x.byTurn[s.ID]
	if q == nil || q.waits > 0 {
		return nil
	}
	at := s.Since
	if q.ended.After(at) {
		at = q.ended
	}
	first := slices.Min(slices.Collect(maps.Keys(q.pending)))
	return []approvals.Event{q.event(s, approvals.EventTurnReady, first, at)}
}

func (q *asked) event(s State, typ approvals.EventType, request string, at time.Time) approvals.Event {
	a := &q.about
	return approvals.Event{
		ID: approvals.DerivedID(at, fmt.Sprintf("%s/%s/%s", request, typ, s.Attachment)), Type: typ, Time: at.UTC(), RequestID: request,
		Tenant: a.principal.Tenant, Principal: a.principal, SessionID: a.session, RunID: a.run, TurnID: a.turn, Dialect: a.dialect, Model: a.model,
	}
}
