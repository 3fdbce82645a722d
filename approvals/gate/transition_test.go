package gate

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const requestID = "01J00000000000000000000000"

// memoryStore has one request, and the events that were appended. The other methods of a
// store are missing.
type memoryStore struct {
	approvals.Store
	stored  approvals.Stored
	steps   []string // what was written, in order
	failing map[string]error
	during  func() // called in each write of the request, before it
}

func (s *memoryStore) GetRequest(context.Context, string) (approvals.Stored, error) {
	return s.stored, s.failing["get"]
}

func (s *memoryStore) UpdateRequest(_ context.Context, r approvals.Request, revision uint64) (uint64, error) {
	if s.during != nil {
		s.during()
	}
	if err := s.failing["update"]; err != nil {
		return 0, err
	}
	if revision != s.stored.Revision {
		return 0, approvals.ErrConflict
	}
	s.stored = approvals.Stored{Request: r, Revision: revision + 1, At: opened}
	s.steps = append(s.steps, "request "+string(r.Status))
	return revision + 1, nil
}

func (s *memoryStore) AppendEvents(_ context.Context, events ...approvals.Event) error {
	if err := s.failing["append"]; err != nil {
		return err
	}
	for i := range events {
		s.steps = append(s.steps, string(events[i].Type))
	}
	return nil
}

func newTestTransitions(s *memoryStore) *transitions {
	now := func() time.Time { return opened }
	timers := newScheduler(now)
	p := newPending(timers)
	return &transitions{
		store: s, now: now, log: slog.New(slog.DiscardHandler), timers: timers, pending: p, metrics: newMetrics(nil, nil),
		started: opened, writing: map[string]*transition{}, closing: newCloser(func(string, uint64) {}, now),
	}
}

func TestTransition(t *testing.T) {
	t.Parallel()
	lost := approvals.Unavailable("write", errors.New("lost"))
	stop := errors.New("stop")
	pending := pendingRequests(requestID)[0]
	for name, c := range map[string]struct {
		request approvals.Request
		failing map[string]error
		step    error
		writes  int // of another replica, each just before ours
		want    error
		decided bool // by a DecidedError
		steps   []string
		done    bool // the hold is
		repairs int
	}{
		"cancelled":               {request: pending, steps: []string{"request cancelled", "approval_cancelled"}, done: true},
		"after two other writers": {request: pending, writes: 2, steps: []string{"request cancelled", "approval_cancelled"}, done: true},
		"the step refuses":        {request: pending, step: stop, want: stop},
		"final before":            {request: *ended(pending, approvals.StatusExpired), decided: true, done: true, repairs: 1},
		"it cannot be read":       {request: pending, failing: map[string]error{"get": lost}, want: approvals.ErrStoreUnavailable},
		"it cannot be written":    {request: pending, failing: map[string]error{"update": lost}, want: approvals.ErrStoreUnavailable},
		"the event comes later":   {request: pending, failing: map[string]error{"append": lost}, steps: []string{"request cancelled"}, done: true, repairs: 1},
	} {
		s := &memoryStore{stored: approvals.Stored{Request: c.request, Revision: 7, At: opened}, failing: c.failing}
		s.during = func() {
			if c.writes--; c.writes >= 0 {
				s.stored.Revision++
			}
		}
		tr := newTestTransitions(s)
		h := newTestHold(tr.pending, requestID)
		tr.pending.expect(h)
		_, err := tr.do(t.Context(), requestID, func(r *approvals.Request) error {
			finish(r, approvals.StatusCancelled, opened)
			return c.step
		})
		if c.decided != errors.As(err, new(*approvals.DecidedError)) || (!c.decided && !errors.Is(err, c.want)) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if len(c.steps) > 0 {
			if !tr.isWriting(requestID) {
				t.Errorf("%s: it is not being written, and the watch has not reported it", name)
			}
			tr.changed(approvals.Stored{Request: pending, Revision: 7, At: opened}) // late
			tr.changed(s.stored)
		}
		if !slices.Equal(s.steps, c.steps) || isDone(h) != c.done || len(tr.writing) != 0 {
			t.Errorf("%s: wrote %q, want %q; the hold is done: %t; %d are being written", name, s.steps, c.steps, isDone(h), len(tr.writing))
		}
		if got := repairs(tr.timers); got != c.repairs {
			t.Errorf("%s: %d repairs are scheduled, want %d", name, got, c.repairs)
		}
	}
}

func repairs(s *scheduler) (n int) {
	for _, t := range s.timers {
		if t.kind == timerRepair {
			n++
		}
	}
	return n
}

// A revision that the watch reports during a transition is applied after it, if it is newer
// than the transition.
func TestTransitionAndWatch(t *testing.T) {
	t.Parallel()
	pending := pendingRequests(requestID)[0]
	for name, c := range map[string]struct {
		seen []uint64 // revisions; 9 is a denial
		fail error    // of our own write
		want approvals.Status
	}{
		"our own write":           {[]uint64{8}, nil, approvals.StatusCancelled},
		"an older one":            {[]uint64{6}, nil, approvals.StatusCancelled},
		"a newer one, we lost":    {[]uint64{9}, approvals.ErrTooLarge, approvals.StatusDenied},
		"two in the wrong order":  {[]uint64{9, 8}, approvals.ErrTooLarge, approvals.StatusDenied},
		"nothing, and ours fails": {nil, approvals.ErrTooLarge, approvals.StatusPending},
	} {
		s := &memoryStore{stored: approvals.Stored{Request: pending, Revision: 7, At: opened}}
		if c.fail != nil {
			s.failing = map[string]error{"update": c.fail}
		}
		tr := newTestTransitions(s)
		h := newTestHold(tr.pending, requestID)
		tr.pending.expect(h)
		s.during = func() {
			for _, revision := range c.seen {
				state := pending
				if revision == 9 {
					state = *ended(pending, approvals.StatusDenied)
				}
				tr.changed(approvals.Stored{Request: state, Revision: revision, At: opened})
			}
			if isDone(h) {
				t.Errorf("%s: the hold is done during the transition", name)
			}
		}
		if err := tr.cancel(t.Context(), requestID, approvals.CancelAgentGone); !errors.Is(err, c.fail) {
			t.Errorf("%s: %v", name, err)
		}
		if got := h.Requests()[0].Status; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// After the first load, only final requests that are about as new as the newest are
// repaired. Later ones are repaired when they become final: at once if they were written
// before the start, else after a delay.
func TestReconcile(t *testing.T) {
	t.Parallel()
	final := *ended(pendingRequests(requestID)[0], approvals.StatusDenied)
	for more, want := range map[int]int{0: 4, fewOpen: 2} { // of many requests only the latest are repaired
		tr := newTestTransitions(&memoryStore{})
		tr.recent = []finished{}
		for _, before := range []time.Duration{0, approvals.CrashWindow, approvals.CrashWindow + 1, time.Hour} {
			tr.changed(approvals.Stored{Request: final, At: opened.Add(-before)})
		}
		for range more {
			tr.changed(approvals.Stored{Request: final, At: opened.Add(-time.Hour)})
		}
		tr.reconcile()
		if got := repairs(tr.timers); got != want || tr.recent != nil {
			t.Errorf("beside %d others %d repairs are scheduled, want %d; %d are kept", more, got, want, len(tr.recent))
		}
	}
	for after, want := range map[time.Duration]time.Duration{-1: 0, 1: repairDelay} {
		tr := newTestTransitions(&memoryStore{})
		tr.changed(approvals.Stored{Request: pendingRequests(requestID)[0], At: opened.Add(after)})
		if i := slices.IndexFunc(tr.timers.timers, func(t *timer) bool { return t.kind == timerRepair }); i < 0 || tr.timers.timers[i].at != opened.Add(want) {
			t.Errorf("written %s after the start: repair %d of %d", after, i, len(tr.timers.timers))
		}
	}
}
