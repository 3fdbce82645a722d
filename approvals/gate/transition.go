package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
)

// movement is a transition that this gate is writing. What the watch says of
// the request meanwhile waits in seen, so that waiters wake only after the
// event of the transition is in the audit log.
type movement struct {
	writers int
	adopted uint64 // the last revision that was taken over
	seen    *approvals.Stored
}

// move takes a pending request one step on: it reads it, lets step change it,
// and writes it if nobody else did in between; else it begins again. The event
// follows, then the waiters wake. It fails with [*DecidedError] if the request
// is final, and with whatever step returns.
func (g *Gate) move(ctx context.Context, id string, step func(*approvals.Request) error) (approvals.Request, error) {
	if _, err := ulid.ParseStrict(id); err != nil {
		return approvals.Request{}, fmt.Errorf("request %q: %w", id, approvals.ErrUnknownRequest)
	}
	g.beginMove(id)
	defer g.endMove(id)
	for attempt := 0; ; attempt++ {
		s, err := g.store.GetRequest(ctx, id)
		if err != nil {
			return approvals.Request{}, err
		}
		if s.Request.Status.Final() {
			g.adoptForeign(s)
			return s.Request, &approvals.DecidedError{Request: s.Request}
		}
		r := s.Request
		r.Decisions = slices.Clone(r.Decisions)
		if err := step(&r); err != nil {
			return s.Request, err
		}
		revision, err := g.store.UpdateRequest(ctx, r, s.Revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return s.Request, approvals.Unavailable("decide request "+id, err)
			}
			continue
		}
		if err != nil {
			return s.Request, err
		}
		g.recordMove(ctx, &s.Request, &r)
		g.grantMove(ctx, &r)
		g.adopt(approvals.Stored{Request: r, Revision: revision, At: g.now().UTC()})
		return r, nil
	}
}

// recordMove appends the events that the step from before to after adds. The
// step is durable by now: if its events cannot be written they follow later.
func (g *Gate) recordMove(ctx context.Context, before, after *approvals.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	events := approvals.EventsSince(before, after)
	if err := g.store.AppendEvents(ctx, events...); err != nil {
		g.log.Warn("an event could not be recorded yet; trying again", "request", after.ID, "status", after.Status, "error", err)
		g.due.add(&job{kind: jobRepair, id: after.ID, at: g.now().Add(retryDelay)})
	}
}

// grantMove writes the grant that a step has asked for, before anybody who waits
// for the request goes on: the same call may come again at once.
func (g *Gate) grantMove(ctx context.Context, r *approvals.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	if err := g.ensureGrant(ctx, r); err != nil {
		g.log.Warn("a grant could not be written yet; trying again", "request", r.ID, "error", err)
		g.due.add(&job{kind: jobRepair, id: r.ID, at: g.now().Add(retryDelay)})
	}
}

// ensureGrant writes the grant of a request that was decided for always, unless
// it is there, or was and is revoked.
func (g *Gate) ensureGrant(ctx context.Context, r *approvals.Request) error {
	d, ok := r.FinalDecision()
	if !ok || g.grants == nil {
		return nil
	}
	grant, ok := approvals.GrantOf(r, &d)
	if !ok {
		return nil
	}
	err := g.grants.Write(ctx, grant)
	if errors.Is(err, approvals.ErrTooLarge) { // it will be so for ever
		g.log.Error("a grant does not hold: it is too large to record", "request", r.ID, "grant", grant.ID, "error", err)
		return nil
	}
	return err
}

func (g *Gate) beginMove(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.moving[id]
	if m == nil {
		m = &movement{}
		g.moving[id] = m
	}
	m.writers++
}

// endMove lets go of a request; what the watch saw meanwhile is caught up on.
func (g *Gate) endMove(id string) {
	g.mu.Lock()
	m := g.moving[id]
	m.writers--
	last := m.writers == 0
	if last {
		delete(g.moving, id)
	}
	g.mu.Unlock()
	if last && m.seen != nil && m.seen.Revision > m.adopted {
		g.adoptForeign(*m.seen)
	}
}

// adoptForeign takes over what another gate wrote. Should that gate have died
// right after, its event is missing: this one looks after a while, or at once
// if the record is from before the start.
func (g *Gate) adoptForeign(s approvals.Stored) {
	if news := g.adopt(s); !news {
		return
	}
	at := g.now()
	if s.At.After(g.started) {
		at = at.Add(repairDelay)
	}
	g.due.add(&job{kind: jobRepair, id: s.Request.ID, at: at})
}

// adopt takes over how a request stands: a pending one is kept in mind with its
// deadline, a final one wakes its hold. It reports whether that was news: a
// request not known to be pending before, or not known to be final.
func (g *Gate) adopt(s approvals.Stored) (news bool) {
	r := s.Request
	g.mu.Lock()
	if m := g.moving[r.ID]; m != nil {
		m.adopted = max(m.adopted, s.Revision)
	}
	w := g.pending[r.ID]
	if w == nil {
		if !r.Status.Final() {
			g.track(r, nil, 0)
		}
		g.mu.Unlock()
		return !r.Status.Final()
	}
	if r.Status.Final() {
		g.drop(r.ID, w)
	}
	hold := w.hold
	g.mu.Unlock()
	if hold != nil {
		if r.Status.Final() {
			g.metrics.held(r)
		}
		hold.update(w.index, r)
	}
	return r.Status.Final()
}

// forget drops a pending request that is not recorded.
func (g *Gate) forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w := g.pending[id]; w != nil {
		g.drop(id, w)
	}
}

// drop ends the wait for a request. The caller holds g.mu.
func (g *Gate) drop(id string, w *waiter) {
	delete(g.pending, id)
	g.due.remove(w.deadline)
	for _, later := range w.escalate {
		g.due.remove(later)
	}
}

// cancel ends a pending request that nobody needs answered any more.
func (g *Gate) cancel(ctx context.Context, id, reason string) (approvals.Request, error) {
	return g.move(ctx, id, func(r *approvals.Request) error {
		r.Details.CancelReason = reason
		g.end(r, approvals.StatusCancelled)
		return nil
	})
}

// end makes a request final.
func (g *Gate) end(r *approvals.Request, status approvals.Status) {
	now := g.now().UTC()
	r.Status = status
	r.Details.EndedAt = &now
}
