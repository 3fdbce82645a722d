package heldturns

import (
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// eventTypes are the types of the events of the states.
var eventTypes = map[approvals.AttachState]approvals.EventType{
	approvals.AgentAttached: approvals.EventTurnReattached,
	approvals.AgentDetached: approvals.EventTurnDetached,
	approvals.AgentParked:   approvals.EventTurnParked,
}

// stateEvent returns the event of the recorded state of a turn. Its id depends on the record
// only: any process can write the same event. There is none for a turn without requests:
// nobody was asked.
func (x *index) stateEvent(s State) (approvals.Event, bool) {
	typ, has := eventTypes[s.State]
	return x.event(s, typ, s.Since, has)
}

// readyEvent returns the event of a turn without an agent whose requests are all final.
func (x *index) readyEvent(s State) (approvals.Event, bool) {
	x.mu.RLock()
	at := s.Since
	q := x.requests[s.ID]
	has := q.decided()
	if has && q.ended.After(at) {
		at = q.ended
	}
	x.mu.RUnlock()
	return x.event(s, approvals.EventTurnReady, at, has)
}

func (x *index) event(s State, typ approvals.EventType, at time.Time, has bool) (approvals.Event, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	q := x.requests[s.ID]
	if !has || q == nil {
		return approvals.Event{}, false
	}
	e := q.about
	e.Type, e.Time = typ, at.UTC()
	e.ID = approvals.DerivedID(at, fmt.Sprintf("%s/%s/%s", s.ID, typ, s.Attachment))
	return e, true
}

// logState appends the event of a state that this process has written. After an error it is
// written in the background.
func (k *Keeper) logState(ctx context.Context, s State, revision uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	if e, has := k.index.stateEvent(s); has {
		if err := k.store.AppendEvents(ctx, e); err != nil {
			k.log.Warn("failed to record an event; trying again", "turn", s.ID, "event", e.Type, "error", err)
			return
		}
	}
	k.index.logged(s.ID, revision, false)
}

// ensureState is logState for an event that may be in the log already.
func (k *Keeper) ensureState(ctx context.Context, s stateRecord) error {
	if e, has := k.index.stateEvent(s.State); has {
		if err := k.store.EnsureEvent(ctx, e); err != nil {
			return err
		}
	}
	k.index.logged(s.ID, s.revision, false)
	return nil
}

// ensureReady records that the requests of a turn without an agent are all final.
func (k *Keeper) ensureReady(ctx context.Context, s stateRecord) error {
	if e, has := k.index.readyEvent(s.State); has {
		if err := k.store.EnsureEvent(ctx, e); err != nil {
			return err
		}
	}
	k.index.logged(s.ID, s.revision, true)
	return nil
}

// logged marks that the event of a state, or also turn_ready, is in the audit log.
func (x *index) logged(id string, revision uint64, ready bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.states[id]; s.revision == revision {
		s.logged, s.ready = true, s.ready || ready
		x.states[id] = s
	}
}
