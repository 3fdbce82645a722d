package gate

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// fewOpen is the number of final requests that a start has to read up to which the events of all
// are looked for: they may have failed for longer. It reads all requests if there was no index.
const fewOpen = 2000

// changed applies a revision that the watch reports or a hold finds: after the write if this process is writing
// the request.
func (t *transitions) changed(s approvals.Stored) {
	t.mu.Lock()
	if w := t.writing[s.Request.ID]; w != nil {
		if !w.admits(&s) {
			t.mu.Unlock()
			return
		}
		if w.writers == 0 {
			delete(t.writing, s.Request.ID)
		}
	}
	if s.Request.Status.Final() && t.recent != nil {
		t.recent = append(t.recent, finished{s.Request.ID, s.At})
	}
	t.mu.Unlock()
	t.applyRemote(s)
}

// reconcile schedules repairs after the first load: a crash may have left out the records
// that follow a final request.
func (t *transitions) reconcile() {
	t.mu.Lock()
	recent := t.recent
	t.recent = nil
	t.mu.Unlock()
	var newest time.Time
	for _, f := range recent {
		if f.at.After(newest) {
			newest = f.at
		}
	}
	for _, f := range recent {
		if len(recent) <= fewOpen || newest.Sub(f.at) <= approvals.CrashWindow {
			t.timers.add(&timer{kind: timerRepair, id: f.id, at: t.now()})
		}
	}
}

// repair writes the missing events, publication and grant of a recorded request, and
// returns the request.
func (t *transitions) repair(ctx context.Context, id string) (approvals.Request, error) {
	s, err := t.store.GetRequest(ctx, id)
	if err != nil {
		return approvals.Request{}, err
	}
	r := s.Request
	for _, e := range r.Events() {
		if err := t.store.EnsureEvent(ctx, e); err != nil {
			return r, err
		}
	}
	if !r.Status.Final() {
		return r, t.store.PublishRequest(ctx, r)
	}
	return r, t.ensureGrant(ctx, &r)
}
