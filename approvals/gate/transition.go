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

// repairDelay is how long another replica is given to record the event of a
// transition before this one does.
const repairDelay = 5 * time.Second

// errOverdue and errNotDue stop a transition at the wrong time; errEscalated stops an
// escalation that has been done.
var (
	errOverdue   = errors.New("the deadline has passed")
	errNotDue    = errors.New("the deadline has not come")
	errEscalated = errors.New("escalated already")
)

// transitions change pending requests in the store, each by compare-and-set, write the
// events and grants that follow, then wake the holds. They also apply the transitions
// of other replicas.
type transitions struct {
	store   approvals.Store
	now     func() time.Time
	log     *slog.Logger
	grants  *grants.Grants // nil: decisions are not remembered
	timers  *scheduler
	pending *pending
	metrics *metrics
	started time.Time

	mu      sync.Mutex
	writing map[string]*transition // by request
	recent  []finished             // final requests of the first load, until it is reconciled
}

// transition is what this process writes of one request at this time. A revision that
// the watch reports meanwhile waits in seen, so that holds wake only after the event of
// the transition is in the audit log.
type transition struct {
	writers int
	applied uint64 // the last revision that was applied
	seen    *approvals.Stored
}

// finished is a final request that the first load found.
type finished struct {
	id string
	at time.Time
}

// do takes a pending request through one transition: it reads the request, lets step
// change it, and writes it, again from the beginning if another writer was faster.
// It fails with [*approvals.DecidedError] if the request is final, and with the error
// of step.
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
		t.record(ctx, &s.Request, &r)
		t.apply(approvals.Stored{Request: r, Revision: revision, At: t.now().UTC()})
		return r, nil
	}
}

// record writes the events and the grant of a transition, both before the hold wakes: the
// same call may come again at once. The transition
// is durable by now: what cannot be written is written later.
func (t *transitions) record(ctx context.Context, before, after *approvals.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	if err := t.store.AppendEvents(ctx, approvals.EventsSince(before, after)...); err != nil {
		t.log.Warn("an event could not be recorded yet; trying again", "request", after.ID, "status", after.Status, "error", err)
		t.timers.retry(timer{kind: timerRepair, id: after.ID})
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	if err := t.ensureGrant(ctx, after); err != nil {
		t.log.Warn("a grant could not be written yet; trying again", "request", after.ID, "error", err)
		t.timers.retry(timer{kind: timerRepair, id: after.ID})
	}
}

// ensureGrant writes the grant of a request that was decided for always, unless it
// exists, or existed and was revoked.
func (t *transitions) ensureGrant(ctx context.Context, r *approvals.Request) error {
	d, ok := r.FinalDecision()
	if !ok || t.grants == nil {
		return nil
	}
	grant, ok := approvals.GrantOf(r, &d)
	if !ok {
		return nil
	}
	err := t.grants.Write(ctx, grant)
	if errors.Is(err, approvals.ErrTooLarge) { // it will be so for ever
		t.log.Error("a grant is not in force: it is too large to record", "request", r.ID, "grant", grant.ID, "error", err)
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

// end applies what the watch reported during the transition.
func (t *transitions) end(id string) {
	t.mu.Lock()
	w := t.writing[id]
	w.writers--
	last := w.writers == 0
	if last {
		delete(t.writing, id)
	}
	t.mu.Unlock()
	if last && w.seen != nil && w.seen.Revision > w.applied {
		t.applyRemote(*w.seen)
	}
}

// apply takes over the state of a request and wakes the hold of a final one. It reports
// whether that was news: see [pending.apply].
func (t *transitions) apply(s approvals.Stored) (news bool) {
	r := s.Request
	t.mu.Lock()
	if w := t.writing[r.ID]; w != nil {
		w.applied = max(w.applied, s.Revision)
	}
	t.mu.Unlock()
	hold, index, news := t.pending.apply(&r)
	if hold != nil {
		if r.Status.Final() {
			t.metrics.held(&r)
		}
		hold.update(index, r)
	}
	return news
}

// applyRemote applies what another replica wrote. If that replica died right after, its
// event is missing: this one repairs the request after a while, or at once if the
// record is from before the start.
func (t *transitions) applyRemote(s approvals.Stored) {
	if news := t.apply(s); !news {
		return
	}
	at := t.now()
	if s.At.After(t.started) {
		at = at.Add(repairDelay)
	}
	t.timers.add(&timer{kind: timerRepair, id: s.Request.ID, at: at})
}

// cancel ends a pending request that needs no answer any more.
func (t *transitions) cancel(ctx context.Context, id, reason string) error {
	_, err := t.do(ctx, id, func(r *approvals.Request) error {
		r.Details.CancelReason = reason
		finish(r, approvals.StatusCancelled, t.now())
		return nil
	})
	return err
}

// cancelOrRetry cancels a request, and tries again later if the store refuses. A request
// that was decided meanwhile is no error.
func (t *transitions) cancelOrRetry(ctx context.Context, id, reason string) error {
	err := t.cancel(ctx, id, reason)
	if err == nil || errors.As(err, new(*approvals.DecidedError)) {
		return nil
	}
	t.timers.retry(timer{kind: timerCancel, id: id, reason: reason})
	return err
}

func (t *transitions) detach(h *Hold) { t.pending.detach(h) }

// expire ends a request after its deadline, according to its on_timeout.
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

// escalate lets more groups decide a request for which a time has come. The first
// groups may still decide it, and their approvals count.
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
