package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/cost"
)

// memoryRuns has one run and the requests of it. The other methods of a store are missing.
type memoryRuns struct {
	approvals.Records[approvals.Run]
	run       approvals.Run
	revision  uint64 // 0: there is no run
	requests  []approvals.Request
	conflicts int // of the next writes
	events    []string
	scheduled []string // the runs of scheduled work
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

func (s *memoryRuns) record(_ context.Context, e approvals.Event) error {
	s.events = append(s.events, string(e.Type)+" by "+e.ReviewerID)
	return nil
}

// opened is the time of the tests.
var opened = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newTestRuns returns runs whose scheduled work is only noted, by run.
func newTestRuns(s *memoryRuns) *Runs {
	return New(Options{
		Store: s, Requests: s, Record: s.record, Now: func() time.Time { return opened }, Idle: time.Hour, Log: slog.New(slog.DiscardHandler),
		Schedule: func(_ time.Time, run string, _ func(context.Context) error) { s.scheduled = append(s.scheduled, run) },
	})
}

// fieldOf returns the field of an InvalidError, the text of another error, "" for none.
func fieldOf(err error) string {
	invalid := (*approvals.InvalidError)(nil)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &invalid):
		return invalid.Field
	}
	return err.Error()
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
			r.Changed(s.run)
		}
		answer, err := r.Signal(t.Context(), approvals.Signal{RunID: "r", Action: c.action, ReviewerID: "rita"})
		if field := fieldOf(err); field != c.field || (err == nil && answer.State != c.after) || answer.Known {
			t.Errorf("%q, %s: %+v, %v", c.before, c.action, answer, err)
		}
		want := []string{c.event}
		if c.event == "" {
			want = nil
		}
		if got, _ := r.State("r", approvals.Principal{}); got != c.after || !slices.Equal(s.events, want) {
			t.Errorf("%q, %s: %s and %q, want %s and %q", c.before, c.action, got, s.events, c.after, want)
		}
	}
	for field, s := range map[string]approvals.Signal{
		"run_id":      {Action: approvals.SignalPause, ReviewerID: "rita"},
		"reviewer_id": {Action: approvals.SignalPause, RunID: "r"},
	} {
		if _, err := newTestRuns(&memoryRuns{}).Signal(t.Context(), s); fieldOf(err) != field {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

// The first signal to a run finds its principal and session in its requests.
func TestSignalToANewRun(t *testing.T) {
	t.Parallel()
	who := approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}
	s := &memoryRuns{requests: []approvals.Request{{RunID: "other"}, {RunID: "r", Status: approvals.StatusDenied, Principal: who, SessionID: "s1"}}}
	answer, err := newTestRuns(s).Signal(t.Context(), approvals.Signal{RunID: "r", Action: approvals.SignalPause, ReviewerID: "rita"})
	if err != nil || !answer.Known || answer.Principal != who || answer.SessionID != "s1" || s.run.Principal != who {
		t.Errorf("%+v, %v", answer, err)
	}
}

// A state of a run that is older than the known one is ignored.
func TestRunsApply(t *testing.T) {
	t.Parallel()
	s := &memoryRuns{}
	r := newTestRuns(s)
	at := func(state approvals.RunState, after time.Duration) approvals.Run {
		return approvals.Run{ID: "r", State: state, UpdatedAt: opened.Add(after)}
	}
	if state, _ := r.State("r", approvals.Principal{}); r.Steered() || state != approvals.RunRunning {
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
		r.states.apply(step.run)
		if got, _ := r.State("r", approvals.Principal{}); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
		if err := r.AwaitResume(ended, "r", approvals.Principal{}); !errors.Is(err, step.err) {
			t.Errorf("%s: %v, want %v", step.want, err, step.err)
		}
	}
	if !slices.Equal(s.scheduled, []string{"r"}) {
		t.Errorf("scheduled for %q, want the cancellation of the requests", s.scheduled)
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
	for name, step := range map[string]func(*Runs){
		"the run first":      func(r *Runs) { r.states.apply(run); r.RequestChanged(decided) },
		"its requests first": func(r *Runs) { r.RequestChanged(decided); r.states.apply(run) },
	} {
		r := newTestRuns(&memoryRuns{})
		step(r)
		if all := r.List(); len(all) != 1 || all[0].State != approvals.RunEnded {
			t.Errorf("%s: %+v", name, all)
		}
		r.RequestChanged(newer)
		if all := r.List(); len(all) != 1 || all[0].State != approvals.RunRunning {
			t.Errorf("%s, then asked again: %+v", name, all)
		}
	}
}

// The outcome of a turn is recorded when the program stops before its timer fires.
func TestLastOutcomeIsRecordedAtTheEnd(t *testing.T) {
	t.Parallel()
	s := &memoryRuns{}
	r := newTestRuns(s)
	leave := r.Enter(true, func() Entry { return Entry{Run: approvals.Run{ID: "run"}} })
	if r.Flush(t.Context()); s.revision != 0 {
		t.Errorf("without an outcome: %+v", s.run)
	}
	leave(approvals.OutcomeDeniedByPerson)
	for range 2 { // the second has nothing to write
		r.Flush(t.Context())
		if s.revision != 1 || s.run.LastOutcome != approvals.OutcomeDeniedByPerson {
			t.Errorf("after %d writes: %+v", s.revision, s.run)
		}
	}
}

// Agents of a paused principal that name ever new runs, and leave, take no memory.
func TestWaitingForAPausedRunTakesNoMemory(t *testing.T) {
	r := newTestRuns(&memoryRuns{})
	who := approvals.Principal{User: "ann"}
	r.SignalChanged(approvals.PrincipalSignal{Principal: who, Action: approvals.SignalPause, Since: opened})
	gone, leave := context.WithCancel(t.Context())
	leave()
	before := cost.InUse()
	for i := range 20_000 {
		if err := r.AwaitResume(gone, fmt.Sprintf("%0200d", i), who); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if after := cost.InUse(); after > before+1<<20 {
		t.Errorf("%d bytes are in use after %d before", after, before)
	}
	runtime.KeepAlive(r)
}
