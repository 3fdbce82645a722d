package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/grants"
)

// repairDelay is the time that another replica has to record the event of its transition
// before this replica does.
const repairDelay = 5 * time.Second

// errOverdue and errNotDue stop a transition at the wrong time; errEscalated stops an
// escalation that has been done.
var (
	errOverdue   = errors.New("the deadline has passed")
	errNotDue    = errors.New("the deadline has not come")
	errEscalated = errors.New("escalated already")
)

// transitions changes pending requests in the store by compare-and-set, writes the events
// and grants that follow, and then updates the holds. It also applies the transitions of
// other replicas.
type transitions struct {
	store   approvals.Store
	closing *closer
	now     func() time.Time
	log     *slog.Logger
	grants  *grants.Grants // nil: decisions are not remembered
	timers  *scheduler
	pending *pending
	metrics *metrics
	turns   heldTurns
	started time.Time

	mu      sync.Mutex
	writing map[string]*transition // by request
	recent  []finished             // final requests of the first load, until it is reconciled
}

// transition is a change of one request that this process is writing, or that the watch has
// not reported yet. A revision that the watch reports meanwhile is kept in seen: a hold must
// not end before the event of the transition is in the audit log.
type transition struct {
	writers int
	written uint64 // the last revision that this process wrote
	applied uint64 // the last revision that was applied
	seen    *approvals.Stored
}

// admits notes a revision that is reported, and reports whether it may be applied now.
func (w *transition) admits(s *approvals.Stored) bool {
	if w.writers == 0 {
		return s.Revision >= w.written // else it is reported late
	}
	if w.seen == nil || s.Revision > w.seen.Revision {
		w.seen = s
	}
	return s.Request.Status.Final() && s.Revision == w.applied // a hold may have been opened since
}

// reported reports whether the watch has reported what was written.
func (w *transition) reported() bool {
	return w.written == 0 || (w.seen != nil && w.seen.Revision >= w.written)
}

// finished is a final request that the first load found.
type finished struct {
	id string
	at time.Time
}

// do changes a pending request: it reads the request, calls step to change it, and writes
// it. It starts again if another writer was faster. It fails with
// [*approvals.DecidedError] if the request is final, and with the error of step.
func (t *transitions) do(ctx context.Context, id string, step func(*approvals.Request) error) (approvals.Request, error) {
	if _, err := ulid.ParseStrict(id); err != nil {
		return approvals.Request{}, fmt.Errorf("request %q: %w", id, approvals.ErrUnknownRequest)
	}
	t.begin(id)
	defer t.end(id)
	for attempt := 0; ; attempt++ {
		s, err := t.store.GetRequest(ctx, id)
		if err != nil {
			return approvals.Request{}, err
		}
		if s.Request.Status.Final() {
			t.applyRemote(s)
			return s.Request, &approvals.DecidedError{Request: s.Request}
		}
		r := s.Request
		r.Decisions = slices.Clone(r.Decisions)
		if err := step(&r); err != nil {
			return s.Request, err
		}
		revision, err := t.store.UpdateRequest(ctx, r, s.Revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return s.Request, approvals.Unavailable("decide request "+id, err)
			}
			continue
		}
		if err != nil {
			return s.Request, err
		}
		t.wrote(id, revision)
		t.record(ctx, &s.Request, &r)
		t.apply(approvals.Stored{Request: r, Revision: revision, At: t.now().UTC()})
		return r, nil
	}
}

// record writes the events and the grant of a transition before the hold ends: the same
// call may come again at once. The transition is durable, so events and grants that cannot
// be written now are written later.
func (t *transitions) record(ctx context.Context, before, after *approvals.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	t.pending.awaitRecorded(ctx, after.ID) // people can decide before the event that asks them is in the log
	if err := t.store.AppendEvents(ctx, before.EventsUntil(after)...); err != nil {
		t.log.Warn("failed to record an event; trying again", "request", after.ID, "status", after.Status, "error", err)
		t.timers.retry(timer{kind: timerRepair, id: after.ID})
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	if err := t.ensureGrant(ctx, after); err != nil {
		t.log.Warn("failed to write a grant; trying again", "request", after.ID, "error", err)
		t.timers.retry(timer{kind: timerRepair, id: after.ID})
	}
}

// ensureGrant writes the grant of a remembered decision, unless it exists or was revoked.
func (t *transitions) ensureGrant(ctx context.Context, r *approvals.Request) error {
	d, ok := r.FinalDecision()
	if !ok || t.grants == nil {
		return nil
	}
	grant, ok := r.GrantOf(&d)
	if !ok {
		return nil
	}
	err := t.grants.Write(ctx, grant)
	if errors.Is(err, approvals.ErrTooLarge) { // a retry cannot help
		t.log.Error("a grant is too large to record and is not in force", "request", r.ID, "grant", grant.ID, "error", err)
		return nil
	}
	return err
}

func (t *transitions) begin(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.writing[id]
	if w == nil {
		w = &transition{}
		t.writing[id] = w
	}
	w.writers++
}

// wrote marks that this process has written a revision.
func (t *transitions) wrote(id string, revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.writing[id]
	w.written = max(w.written, revision)
}

// isWriting reports whether this process is changing a request, or the watch has not reported
// its change yet.
func (t *transitions) isWriting(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writing[id] != nil
}

// end applies the revision that the watch reported during the transition.
func (t *transitions) end(id string) {
	t.mu.Lock()
	w := t.writing[id]
	w.writers--
	last := w.writers == 0
	if last && w.reported() {
		delete(t.writing, id)
	}
	var missed *approvals.Stored
	if last && w.seen != nil && w.seen.Revision > w.applied {
		missed = w.seen
	}
	t.mu.Unlock() // another transition may begin now, and the watch report to it
	if missed != nil {
		t.applyRemote(*missed)
	}
}

// apply updates the holds of a request with its state. For news see [pending.apply].
func (t *transitions) apply(s approvals.Stored) (news bool) {
	r := s.Request
	t.mu.Lock()
	if w := t.writing[r.ID]; w != nil {
		w.applied = max(w.applied, s.Revision)
	}
	t.mu.Unlock()
	waiting, news := t.pending.apply(&r)
	if len(waiting) > 0 && r.Status.Final() {
		t.metrics.held(&r)
	}
	for _, w := range waiting {
		w.hold.update(w.index, r)
	}
	t.turns.changed(&r)
	return news
}

// applyRemote applies a revision that another replica wrote. If that replica died then, the
// event is missing. So this replica repairs the request after a delay, or at once if the
// record is older than the start of this process.
func (t *transitions) applyRemote(s approvals.Stored) {
	if news := t.apply(s); !news {
		return
	}
	due := t.now()
	if s.At.After(t.started) {
		due = due.Add(repairDelay)
	}
	t.timers.add(&timer{kind: timerRepair, id: s.Request.ID, at: due})
}

// cancel cancels a pending request.
func (t *transitions) cancel(ctx context.Context, id, reason string) error {
	_, err := t.do(ctx, id, func(r *approvals.Request) error {
		r.Details.CancelReason = reason
		finish(r, approvals.StatusCancelled, t.now())
		return nil
	})
	return err
}

// cancelOrRetry cancels a request, and tries again later after an error. A request that
// was decided meanwhile is not an error.
func (t *transitions) cancelOrRetry(ctx context.Context, id, reason string) error {
	err := t.cancel(ctx, id, reason)
	if err == nil || errors.As(err, new(*approvals.DecidedError)) {
		return nil
	}
	t.timers.retry(timer{kind: timerCancel, id: id, reason: reason})
	return err
}

// expire ends a request after its deadline as its on_timeout requires.
func (t *transitions) expire(ctx context.Context, id string) (approvals.Request, error) {
	return t.do(ctx, id, func(r *approvals.Request) error {
		now := t.now().UTC()
		if now.Before(r.ExpiresAt) {
			return errNotDue
		}
		if r.OnTimeout != approvals.OnTimeoutApprove {
			finish(r, approvals.StatusExpired, now)
			return nil
		}
		r.Decisions = append(r.Decisions, approvals.Decision{
			RequestID:  r.ID,
			Action:     approvals.ActionApprove,
			ReviewerID: approvals.ReviewerTimeout,
			DecidedAt:  now,
		})
		finish(r, approvals.StatusApproved, now)
		return nil
	})
}

// escalate lets more groups decide a request from a time on. The first groups may still
// decide it, and their approvals count.
func (t *transitions) escalate(ctx context.Context, id string, due time.Time) error {
	_, err := t.do(ctx, id, func(r *approvals.Request) error {
		if !escalate(r, t.now().UTC(), due) {
			return errEscalated
		}
		return nil
	})
	if errors.Is(err, errEscalated) {
		return nil
	}
	return err
}

// finish makes a request final.
func finish(r *approvals.Request, status approvals.Status, now time.Time) {
	now = now.UTC()
	r.Status = status
	r.Details.EndedAt = &now
}
