package heldturns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// workers is the number of turns that the work in the background changes at a time.
	workers = 8
	// lookInterval is the time between two looks at all turns for those that are due.
	lookInterval = time.Second
	// sweepInterval is the time between two searches for snapshots that belong to no turn.
	sweepInterval = time.Hour
	// repairDelay is the time that another process has to record the event of its change
	// before this one does.
	repairDelay = 5 * time.Second
	// strayAge is the age after which what belongs to no turn is removed: before, another
	// process may be storing the turn.
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
func (x *index) next(id string, now time.Time, orphanTTL time.Duration) (s step, t heldTurn, recorded stateRecord, done func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	held, recorded := x.turns[id], x.states[id]
	s = x.lookLocked(id, now, orphanTTL).step()
	if held == nil || s == stepNone {
		return s, t, recorded, func() {}
	}
	held.busy++
	return s, *held, recorded, func() { // schedules nothing: after an error the next look is in time
		x.mu.Lock()
		defer x.mu.Unlock()
		held.busy--
	}
}

func (x *index) lookLocked(id string, now time.Time, orphanTTL time.Duration) *look {
	return &look{x.processes, x.requests, x.turns[id], x.states[id], now, orphanTTL}
}

// look is what a step depends on.
type look struct {
	processes *processes
	requests  *requests
	turn      *heldTurn   // nil for a state without a turn
	recorded  stateRecord // its revision is 0 for a turn without one
	now       time.Time
	orphanTTL time.Duration
}

func (l *look) step() step {
	t, has := l.turn, l.recorded.revision > 0
	switch {
	case t == nil && has && l.now.Sub(l.recorded.Since) > strayAge:
		return stepRemoveState
	case t == nil || t.busy > 0:
		return stepNone
	case t.ended && has:
		return stepRemoveState
	case t.ended:
		return stepNone
	case t.remove:
		return stepRemove
	case l.recorded.State.State == ending:
		if l.responsible(l.recorded.Since) {
			return stepFinish
		}
		return stepNone
	}
	return l.stepOfStored()
}

// responsible reports whether this process does what follows the recorded state: it has
// written the state, or the process that did has ended, or had time to do it.
func (l *look) responsible(since time.Time) bool {
	owner, _ := l.processes.life(l.recorded.Owner)
	return owner == dead || l.recorded.Owner == l.processes.self || l.now.Sub(since) > repairDelay
}

// stepOfStored is step for a turn that is stored and not ending.
func (l *look) stepOfStored() step {
	pending, decided := l.requests.state(l.turn.key.ID)
	has := l.recorded.revision > 0
	left := has && l.recorded.State.State != approvals.AgentAttached
	state := l.turn.state(l.recorded, l.processes)
	since := state.Since // of the time after which it is an orphan
	if state.State == approvals.AgentParked && decided.After(since) {
		since = decided
	}
	switch {
	case left && l.turn.local != nil:
		return stepTakeBack
	case state.State == Delivered:
		if l.now.Sub(since) >= AgainFor && l.responsible(since.Add(AgainFor)) {
			return stepRemove
		}
		return stepNone
	case has && !l.recorded.logged && l.responsible(l.recorded.Since):
		return stepLog
	case !left && state.State == approvals.AgentDetached:
		return stepDetach
	case left:
		return l.stepOfLeft(state.State, since, pending, decided)
	}
	return stepNone
}

// stepOfLeft is step for a turn without an agent, that may be an orphan since a time.
func (l *look) stepOfLeft(state approvals.AttachState, since time.Time, pending int, decided time.Time) step {
	switch {
	case pending == 0 && l.mayBeReady(decided):
		return stepReady
	case l.now.Sub(since) >= l.orphanTTL && (state == approvals.AgentDetached || pending == 0):
		return stepOrphan
	}
	return stepNone
}

// mayBeReady reports whether this process records that a turn is ready whose last request
// became final at a time.
func (l *look) mayBeReady(decided time.Time) bool {
	return !l.recorded.ready && !decided.IsZero() && l.responsible(decided)
}

// reconciler does the work of a keeper in the background.
type reconciler struct {
	k    *Keeper
	gate Gate
}

// work does the work in the background until the context ends.
func (r *reconciler) work(ctx context.Context) error {
	select {
	case <-r.gate.Ready():
	case <-ctx.Done():
		return nil
	}
	var group errgroup.Group
	group.SetLimit(workers)
	defer func() { _ = group.Wait() }() // they return no errors
	look, sweep := time.NewTicker(lookInterval), time.NewTicker(sweepInterval)
	defer look.Stop()
	defer sweep.Stop()
	r.sweep(ctx)
	ids := r.k.index.due(r.k.now(), r.k.orphanTTL)
	for {
		for _, id := range ids {
			group.Go(func() error { r.reconcile(ctx, id); return nil })
		}
		ids = nil
		select {
		case <-ctx.Done():
			return nil
		case <-r.k.index.touched.wake:
			ids = r.k.index.touched.take()
		case <-look.C:
			ids = r.k.index.due(r.k.now(), r.k.orphanTTL)
		case <-sweep.C:
			r.sweep(ctx)
		}
	}
}

// sweep removes the snapshots that belong to no turn.
func (r *reconciler) sweep(ctx context.Context) {
	err := r.k.store.SweepBefore(ctx, r.k.index.wants, r.k.now().Add(-strayAge))
	if err != nil && ctx.Err() == nil {
		r.k.log.Warn("failed to remove the snapshots that a crash has left", "error", err)
	}
}

// reconcile does the steps for a turn. After an error it is called again at the next look at
// all turns.
func (r *reconciler) reconcile(ctx context.Context, id string) {
	for ctx.Err() == nil {
		s, t, state, done := r.k.index.next(id, r.k.now(), r.k.orphanTTL)
		if s == stepNone {
			return
		}
		err := r.do(ctx, s, t, state)
		done()
		switch {
		case err == nil:
		case errors.Is(err, approvals.ErrTaken), errors.Is(err, approvals.ErrUnknownTurn): // another process was faster
			return
		default:
			if ctx.Err() == nil {
				r.k.log.Warn("failed to update a held turn; trying again", "turn", id, "error", err)
			}
			return
		}
	}
}

func (r *reconciler) do(ctx context.Context, s step, t heldTurn, state stateRecord) error {
	id := t.key.ID
	switch s {
	case stepRemove:
		return r.k.remove(ctx, id)
	case stepRemoveState:
		return r.k.removeState(ctx, state.ID, state.revision)
	case stepFinish:
		return r.finish(ctx, id, state.Reason)
	case stepDetach:
		return r.detach(ctx, id, state.revision)
	case stepTakeBack:
		return r.put(ctx, t.local.state(approvals.AgentAttached), state.revision)
	case stepLog:
		return r.k.ensure(ctx, state, r.k.requests.stateEvents(state.State), false)
	case stepReady:
		return r.k.ensure(ctx, state, r.k.requests.readyEvents(state.State), true)
	case stepOrphan:
		reason := approvals.CancelAgentGone
		if state.State.State == approvals.AgentParked { // its approvals stay valid
			reason = ""
		}
		err := r.k.end(ctx, id, reason, state.revision)
		if err == nil {
			r.k.metrics.orphans.Inc()
		}
		return err
	}
	return nil
}

// detach records that a turn has no agent: its process has ended, or the record failed when
// the agent left. Of several processes one does it.
func (r *reconciler) detach(ctx context.Context, id string, revision uint64) error {
	now, _, ok := r.k.index.current(id)
	if !ok || now.State != approvals.AgentDetached {
		return nil
	}
	return r.put(ctx, State{ID: id, State: approvals.AgentDetached, Since: now.Since, Owner: r.k.owner}, revision)
}

// put records a state in the place of the one at a revision. It fails with [approvals.ErrTaken] if that
// has changed meanwhile: the agent may have got the answer.
func (r *reconciler) put(ctx context.Context, state State, revision uint64) error {
	revision, err := r.k.store.PutState(ctx, state, revision)
	if errors.Is(err, approvals.ErrConflict) {
		return fmt.Errorf("held turn %s: %w", state.ID, approvals.ErrTaken)
	}
	if err == nil {
		r.k.index.applyState(state, revision)
		r.k.logState(ctx, state, revision)
	}
	return err
}

// finish cancels the pending requests of a turn that is ending, but those for which another turn waits, records that
// its approved calls are not released, and removes it. There is no reason if its agent was answered.
func (r *reconciler) finish(ctx context.Context, id, reason string) error {
	pending, final := r.k.requests.of(id)
	for _, request := range pending {
		if r.k.index.waits(request) {
			continue
		}
		err := r.gate.Cancel(ctx, request, reason)
		if err != nil && !errors.As(err, new(*approvals.DecidedError)) && !errors.Is(err, approvals.ErrUnknownRequest) {
			return err
		}
	}
	if len(final) > 0 && reason != "" {
		for _, request := range final {
			if err := r.gate.NotReleased(ctx, request, approvals.NotReleasedBecause(reason)); err != nil && !errors.Is(err, approvals.ErrUnknownRequest) {
				return err
			}
		}
		r.k.log.Warn("ended a held turn whose agent has not come back for what was decided", "turn", id, "reason", reason)
		r.k.metrics.unused.Inc()
	}
	return r.k.remove(ctx, id)
}

// withdrawFormer removes the older snapshots of a turn that are under other keys.
func (k *Keeper) withdrawFormer(ctx context.Context, id string) error {
	t, _ := k.index.get(id)
	for _, key := range t.former {
		if err := k.store.Withdraw(ctx, key, k.orphanTTL); err != nil {
			return err
		}
		k.index.update(id, func(t *heldTurn) { t.withdrawnLocked(key) })
	}
	return nil
}

// remove removes a turn from the store, then its state.
func (k *Keeper) remove(ctx context.Context, id string) error {
	t, ok := k.index.get(id)
	if !ok {
		return nil
	}
	if err := k.withdrawFormer(ctx, id); err != nil {
		return err
	}
	if t.opening {
		err := k.store.Withdraw(ctx, t.key, k.orphanTTL)
		if err == nil {
			k.index.forget(id)
		}
		return err
	}
	if err := k.store.End(ctx, t.key, k.orphanTTL); err != nil {
		return err
	}
	if revision := k.index.end(id, k.now().UTC()); revision > 0 {
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

// logState appends the events of a state that this process has written. After an error they
// are written in the background.
func (k *Keeper) logState(ctx context.Context, s State, revision uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	events := k.requests.stateEvents(s)
	if len(events) == 0 {
		k.index.logged(s.ID, revision, false)
		return
	}
	if err := k.store.AppendEvents(ctx, events...); err != nil {
		k.log.Warn("failed to record an event; trying again", "turn", s.ID, "state", s.State, "error", err)
		return
	}
	k.index.logged(s.ID, revision, false)
}

// ensure writes events of a state that may be in the log already. ready is whether
// turn_ready is among them.
func (k *Keeper) ensure(ctx context.Context, s stateRecord, events []approvals.Event, ready bool) error {
	for _, e := range events {
		if err := k.store.EnsureEvent(ctx, e); err != nil {
			return err
		}
	}
	k.index.logged(s.ID, s.revision, ready)
	return nil
}
