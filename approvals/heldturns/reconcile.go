package heldturns

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// workers is the number of turns that the work in the background changes at a time.
	workers = 8
	// lookInterval is the time between two looks at all turns.
	lookInterval = time.Second
	// repairDelay is the time that another process has to record the event of its change
	// before this one does.
	repairDelay = 5 * time.Second
	// strayAge is the age after which a state without a turn is removed.
	strayAge = time.Minute
)

// step is the next step of the work in the background for a turn.
type step int

const (
	stepNone        step = iota
	stepRemove           // remove it from the store
	stepRemoveState      // remove the state of a turn that has ended
	stepFinish           // cancel its pending requests, then remove it
	stepDetach           // record that its agent has left, or its process has ended
	stepTakeBack         // record that its agent is still there
	stepLog              // write the event of its state
	stepReady            // write the event that its requests are decided
	stepOrphan           // end it: its agent has not come back
)

// next returns the next step for a turn, and what the step is based on. The turn is busy
// until done is called.
func (x *index) next(id string, now time.Time, orphanTTL time.Duration) (s step, t heldTurn, state stateRecord, done func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, state = x.stepLocked(id, now, orphanTTL)
	held := x.turns[id]
	if held == nil || s == stepNone {
		return s, t, state, func() {}
	}
	return s, *held, state, x.beginLocked(held)
}

func (x *index) stepLocked(id string, now time.Time, orphanTTL time.Duration) (step, stateRecord) {
	t, recorded := x.turns[id], x.states[id]
	has := recorded.revision > 0
	switch {
	case t == nil && has && now.Sub(recorded.Since) > strayAge:
		return stepRemoveState, recorded
	case t == nil || t.busy > 0:
		return stepNone, recorded
	case t.ended && has:
		return stepRemoveState, recorded
	case t.ended:
		return stepNone, recorded
	case t.remove:
		return stepRemove, recorded
	case recorded.State.State == ending:
		if _, dead := x.dead(recorded.Owner); dead || recorded.Owner == x.owner {
			return stepFinish, recorded
		}
		return stepNone, recorded
	}
	return x.stepOfStateLocked(t, recorded, now, orphanTTL), recorded
}

// stepOfStateLocked is stepLocked for a turn that is stored and not ending.
func (x *index) stepOfStateLocked(t *heldTurn, recorded stateRecord, now time.Time, orphanTTL time.Duration) step {
	has, q := recorded.revision > 0, x.requests[t.key.ID]
	left := has && recorded.State.State != approvals.AgentAttached
	state, _ := x.stateLocked(t)
	end := state.Since
	if state.State == approvals.AgentParked && q != nil && q.ended.After(end) {
		end = q.ended
	}
	switch {
	case left && t.local != nil:
		return stepTakeBack
	case has && !recorded.logged && (recorded.Owner == x.owner || now.Sub(recorded.Since) > repairDelay):
		return stepLog
	case !left && state.State == approvals.AgentDetached:
		return stepDetach
	case left && !recorded.ready && q.decided():
		return stepReady
	case !left || now.Sub(end) < orphanTTL:
	case state.State == approvals.AgentDetached, q == nil || len(q.pending) == 0:
		return stepOrphan
	}
	return stepNone
}

// work does the work in the background until the context ends.
func (k *Keeper) work(ctx context.Context, g Gate) error {
	select {
	case <-g.Ready():
	case <-ctx.Done():
		return nil
	}
	if err := k.store.Sweep(ctx, k.index.wants); err != nil && ctx.Err() == nil {
		k.log.Warn("failed to remove snapshots that a crash has left", "error", err)
	}
	var group errgroup.Group
	group.SetLimit(workers)
	defer func() { _ = group.Wait() }() // they return no errors
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	ids := k.index.all(k.now().Add(-k.orphanTTL))
	for {
		for _, id := range ids {
			group.Go(func() error { k.reconcile(ctx, g, id); return nil })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.index.wake:
			ids = k.index.takeTouched()
		case <-ticker.C:
			ids = k.index.all(k.now().Add(-k.orphanTTL))
		}
	}
}

// reconcile does the steps for a turn. After an error it is called again at the next look at
// all turns.
func (k *Keeper) reconcile(ctx context.Context, g Gate, id string) {
	for ctx.Err() == nil {
		s, t, state, done := k.index.next(id, k.now(), k.orphanTTL)
		if s == stepNone {
			return
		}
		err := k.do(ctx, g, s, t, state)
		done()
		switch {
		case err == nil:
		case errors.Is(err, approvals.ErrTaken), errors.Is(err, approvals.ErrUnknownTurn): // another process was faster
			return
		default:
			if ctx.Err() == nil {
				k.log.Warn("failed to update a held turn; trying again", "turn", id, "error", err)
			}
			return
		}
	}
}

func (k *Keeper) do(ctx context.Context, g Gate, s step, t heldTurn, state stateRecord) error {
	id := t.key.ID
	switch s {
	case stepRemove:
		return k.remove(ctx, id)
	case stepRemoveState:
		return k.removeState(ctx, state.ID, state.revision)
	case stepFinish:
		return k.finish(ctx, g, id, state.Reason)
	case stepDetach:
		return k.detach(ctx, id, state.revision)
	case stepTakeBack:
		back := k.newState(t.local, approvals.AgentAttached)
		revision, err := k.change(ctx, back, state.revision)
		if err == nil {
			k.logState(ctx, back, revision)
		}
		return err
	case stepLog:
		return k.ensureState(ctx, state)
	case stepReady:
		return k.ensureReady(ctx, state)
	case stepOrphan:
		k.metrics.orphans.Inc()
		return k.end(ctx, id, approvals.CancelAgentGone, state.revision)
	}
	return nil
}

// detach records that a turn has no agent: its process has ended, or the record failed when
// the agent left.
func (k *Keeper) detach(ctx context.Context, id string, revision uint64) error {
	now, _, ok := k.index.current(id)
	if !ok || now.State != approvals.AgentDetached {
		return nil
	}
	state := State{ID: id, State: approvals.AgentDetached, Since: now.Since, Owner: k.owner}
	revision, err := k.change(ctx, state, revision)
	if err == nil {
		k.logState(ctx, state, revision)
	}
	return err
}

// finish cancels the pending requests of a turn that is ending, and removes it.
func (k *Keeper) finish(ctx context.Context, g Gate, id, reason string) error {
	pending, decided := k.index.pendingRequests(id)
	for _, request := range pending {
		err := g.Cancel(ctx, request, reason)
		if err != nil && !errors.As(err, new(*approvals.DecidedError)) && !errors.Is(err, approvals.ErrUnknownRequest) {
			return err
		}
	}
	if decided {
		k.log.Warn("ended a held turn whose agent has not come back for what was decided", "turn", id, "reason", reason)
		k.metrics.unused.Inc()
	}
	return k.remove(ctx, id)
}

// remove removes a turn from the store, then its state.
func (k *Keeper) remove(ctx context.Context, id string) error {
	key, ok := k.index.key(id)
	if !ok {
		return nil
	}
	if err := k.store.End(ctx, key, k.orphanTTL); err != nil {
		return err
	}
	k.index.end(id, k.now().UTC())
	if _, revision, has := k.index.recorded(id); has {
		return k.removeState(ctx, id, revision)
	}
	return nil
}

// removeState removes the state of a turn that has ended.
func (k *Keeper) removeState(ctx context.Context, id string, revision uint64) error {
	err := k.store.RemoveState(ctx, id, revision)
	if err == nil || errors.Is(err, approvals.ErrConflict) {
		k.index.removeState(id)
		return nil
	}
	return err
}
