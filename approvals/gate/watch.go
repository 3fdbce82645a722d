package gate

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// crashWindow is how far before the newest record the first load looks for
// final requests whose events a crash may have left out.
const crashWindow = 10 * time.Minute

// finished is a final request that the first load found.
type finished struct {
	id string
	at time.Time
}

// requestChanged takes over what the watch saw, unless this gate is writing the
// request just now: then it waits for the end of that.
func (g *Gate) requestChanged(s approvals.Stored) {
	g.mu.Lock()
	if m := g.moving[s.Request.ID]; m != nil {
		if m.seen == nil || s.Revision > m.seen.Revision {
			m.seen = &s
		}
		g.mu.Unlock()
		return
	}
	if s.Request.Status.Final() && g.recent != nil {
		g.recent = append(g.recent, finished{s.Request.ID, s.At})
	}
	g.mu.Unlock()
	g.adoptForeign(s)
}

// reconcile schedules, after the first load, what a crash may have left undone:
// a request or a decision was recorded, what should have followed was not.
func (g *Gate) reconcile() {
	g.mu.Lock()
	recent := g.recent
	g.recent = nil
	g.mu.Unlock()
	var newest time.Time
	for _, f := range recent {
		if f.at.After(newest) {
			newest = f.at
		}
	}
	for _, f := range recent {
		if newest.Sub(f.at) <= crashWindow {
			g.due.add(&job{kind: jobRepair, id: f.id, at: g.now()})
		}
	}
}

// repair makes the audit log and the bots' stream say what the record says.
func (g *Gate) repair(ctx context.Context, id string) error {
	s, err := g.store.GetRequest(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range approvals.RequestEvents(&s.Request) {
		if err := g.store.EnsureEvent(ctx, e); err != nil {
			return err
		}
	}
	if !s.Request.Status.Final() {
		return g.store.PublishRequest(ctx, s.Request)
	}
	if err := g.ensureGrant(ctx, &s.Request); err != nil {
		return err
	}
	if d, ok := s.Request.FinalDecision(); ok && d.Action == approvals.ActionAbortRun {
		_, err = g.Signal(ctx, approvals.Signal{RunID: s.Request.RunID, Action: approvals.SignalAbort, ReviewerID: d.ReviewerID})
	}
	return err
}
