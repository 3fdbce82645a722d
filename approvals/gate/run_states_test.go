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

// memoryRuns has one run and the requests of it. The other methods of a store are missing.
type memoryRuns struct {
	approvals.Records[approvals.Run]
	approvals.EventStore
	run       approvals.Run
	revision  uint64 // 0: there is no run
	requests  []approvals.Request
	conflicts int // of the next writes
	events    []string
}

func (s *memoryRuns) Get(context.Context, string) (approvals.Run, uint64, error) {
	if s.revision == 0 {
		return approvals.Run{}, 0, approvals.ErrUnknownRun
	}
	return s.run, s.revision, nil
}

func (s *memoryRuns) Put(_ context.Context, r approvals.Run, revision uint64) error {
	if s.conflicts--; s.conflicts >= 0 || revision != s.revision {
		return approvals.ErrConflict
	}
	s.run, s.revision = r, revision+1
	return nil
}

func (s *memoryRuns) ListRequests(_ context.Context, f approvals.Filter) (page approvals.Page, err error) {
	for i := range s.requests {
		if f.Matches(&s.requests[i]) {
			page.Items = append(page.Items, s.requests[i])
		}
	}
	return page, nil
}

func (s *memoryRuns) AppendEvents(_ context.Context, events ...approvals.Event) error {
	for i := range events {
		s.events = append(s.events, string(events[i].Type)+" by "+events[i].ReviewerID)
	}
	return nil
}

func newTestRuns(s *memoryRuns) *runs {
	now := func() time.Time { return opened }
	return &runs{
		store: s, requests: s, recorder: &recorder{store: s, now: now, ids: &approvals.IDSource{}}, timers: newScheduler(now), now: now,
		principals: newPrincipals(), byID: map[string]approvals.Run{}, changes: map[string]chan struct{}{},
	}
}

// A signal changes the state and writes one event, or changes nothing; an abort is final.
func TestSignals(t *testing.T) {
	t.Parallel()
	const (
		none    = approvals.RunState("")
		running = approvals.RunRunning
		paused  = approvals.RunPaused
		aborted = approvals.RunAborted
	)
	for _, c := range []struct {
		before approvals.RunState
		action approvals.SignalAction
		after  approvals.RunState
		event  string
		field  string // of the refusal
	}{
		{none, approvals.SignalPause, paused, "run_paused by rita", ""},
		{none, approvals.SignalResume, running, "", ""},
		{none, approvals.SignalAbort, aborted, "run_aborted by rita", ""},
		{running, approvals.SignalPause, paused, "run_paused by rita", ""},
		{running, approvals.SignalResume, running, "", ""},
		{paused, approvals.SignalPause, paused, "", ""},
		{paused, approvals.SignalResume, running, "run_resumed by rita", ""},
		{paused, approvals.SignalAbort, aborted, "run_aborted by rita", ""},
		{aborted, approvals.SignalAbort, aborted, "", ""},
		{aborted, approvals.SignalPause, aborted, "", "action"},
		{aborted, approvals.SignalResume, aborted, "", "action"},
		{paused, "restart_run", paused, "", "action"},
	} {
		s := &memoryRuns{conflicts: 2}
		r := newTestRuns(s)
		if c.before != none {
			s.run, s.revision = approvals.Run{ID: "r", State: c.before, UpdatedAt: opened.Add(-time.Second)}, 3
			r.apply(s.run)
		}
		answer, err := r.signal(t.Context(), approvals.Signal{RunID: "r", Action: c.action, ReviewerID: "rita"}, approvals.Run{})
		if field := fieldOf(t, err); field != c.field || (err == nil && answer.State != c.after) || answer.Known {
			t.Errorf("%q, %s: %+v, %v", c.before, c.action, answer, err)
		}
		want := []string{c.event}
		if c.event == "" {
			want = nil
		}
		if got, _ := r.state("r", approvals.Principal{}); got != c.after || !slices.Equal(s.events, want) {
			t.Errorf("%q, %s: %s and %q, want %s and %q", c.before, c.action, got, s.events, c.after, want)
		}
	}
	for field, s := range map[string]approvals.Signal{
		"run_id":      {Action: approvals.SignalPause, ReviewerID: "rita"},
		"reviewer_id": {Action: approvals.SignalPause, RunID: "r"},
	} {
		if _, err := newTestRuns(&memoryRuns{}).signal(t.Context(), s, approvals.Run{}); fieldOf(t, err) != field {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

// The first signal to a run finds its principal and session in its requests.
func TestSignalToANewRun(t *testing.T) {
	t.Parallel()
	who := approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}
	s := &memoryRuns{requests: []approvals.Request{{RunID: "other"}, {RunID: "r", Status: approvals.StatusDenied, Principal: who, SessionID: "s1"}}}
	answer, err := newTestRuns(s).signal(t.Context(), approvals.Signal{RunID: "r", Action: approvals.SignalPause, ReviewerID: "rita"}, approvals.Run{})
	if err != nil || !answer.Known || answer.Principal != who || answer.SessionID != "s1" || s.run.Principal != who {
		t.Errorf("%+v, %v", answer, err)
	}
}

// A state of a run that is older than the known one is ignored.
func TestRunsApply(t *testing.T) {
	t.Parallel()
	r := newTestRuns(&memoryRuns{})
	at := func(state approvals.RunState, after time.Duration) approvals.Run {
		return approvals.Run{ID: "r", State: state, UpdatedAt: opened.Add(after)}
	}
	if state, _ := r.state("r", approvals.Principal{}); r.any() || state != approvals.RunRunning {
		t.Error("a run is known before its first signal")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, step := range []struct {
		run  approvals.Run
		want approvals.RunState
		err  error // of who waits for it
	}{
		{at(approvals.RunPaused, 2), approvals.RunPaused, context.Canceled},
		{at(approvals.RunRunning, 1), approvals.RunPaused, context.Canceled},
		{at(approvals.RunRunning, 3), approvals.RunRunning, nil},
		{at(approvals.RunAborted, 4), approvals.RunAborted, approvals.ErrRunAborted},
	} {
		r.apply(step.run)
		if got, _ := r.state("r", approvals.Principal{}); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
		if err := r.awaitResume(ended, "r", approvals.Principal{}); !errors.Is(err, step.err) {
			t.Errorf("%s: %v, want %v", step.want, err, step.err)
		}
	}
	if len(r.timers.timers) != 1 || r.timers.timers[0].kind != timerAbortRun {
		t.Errorf("%d timers, want one that cancels the requests", len(r.timers.timers))
	}
}

// A write to a request after its run has ended, such as of a result, does not make
// the run active, whichever of both is loaded first.
func TestRequestsOfAnEndedRun(t *testing.T) {
	t.Parallel()
	run := approvals.Run{ID: "r", State: approvals.RunEnded, ActiveAt: opened.Add(-9 * time.Minute), UpdatedAt: opened.Add(-8 * time.Minute)}
	decided := &approvals.Request{
		ID: "q", RunID: "r", Status: approvals.StatusApproved, CreatedAt: opened.Add(-10 * time.Minute),
		Decisions: []approvals.Decision{{Action: approvals.ActionApprove, DecidedAt: opened.Add(-9 * time.Minute)}},
	}
	newer := &approvals.Request{ID: "n", RunID: "r", Status: approvals.StatusPending, CreatedAt: opened.Add(-time.Minute)}
	for name, step := range map[string]func(a *activity){
		"the run first":      func(a *activity) { a.runs.apply(run); a.requested(decided) },
		"its requests first": func(a *activity) { a.requested(decided); a.runs.apply(run) },
	} {
		a := &activity{runs: newTestRuns(&memoryRuns{}), idle: time.Hour, byID: map[string]*activeRun{}, latest: map[session]string{}}
		step(a)
		if all := a.list(); len(all) != 1 || all[0].State != approvals.RunEnded {
			t.Errorf("%s: %+v", name, all)
		}
		a.requested(newer)
		if all := a.list(); len(all) != 1 || all[0].State != approvals.RunRunning {
			t.Errorf("%s, then asked again: %+v", name, all)
		}
	}
}

// The outcome of a turn is recorded when the program stops before its timer fires.
func TestLastOutcomeIsRecordedAtTheEnd(t *testing.T) {
	t.Parallel()
	s := &memoryRuns{}
	a := &activity{runs: newTestRuns(s), idle: time.Hour, log: slog.New(slog.DiscardHandler), byID: map[string]*activeRun{}, latest: map[session]string{}}
	leave := a.enter(true, func() Entry { return Entry{Run: approvals.Run{ID: "run"}} })
	if a.flush(t.Context()); s.revision != 0 {
		t.Errorf("without an outcome: %+v", s.run)
	}
	leave(approvals.OutcomeDeniedByPerson)
	for range 2 { // the second has nothing to write
		a.flush(t.Context())
		if s.revision != 1 || s.run.LastOutcome != approvals.OutcomeDeniedByPerson {
			t.Errorf("after %d writes: %+v", s.revision, s.run)
		}
	}
}
