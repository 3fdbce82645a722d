package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

func signal(t testing.TB, g *gate.Gate, run string, action approvals.SignalAction) approvals.Steered {
	t.Helper()
	r, err := g.Signal(t.Context(), approvals.Signal{RunID: run, Action: action, ReviewerID: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	const run = "run 1 / with. odd > name"
	who := approvals.Principal{}
	if state, _ := g.RunState(run, who); state != approvals.RunRunning || len(g.Runs()) != 0 {
		t.Fatalf("a run without a signal: %s", state)
	}
	if err := g.AwaitResume(t.Context(), run, who); err != nil {
		t.Fatalf("a run without a signal: %v", err)
	}
	if r := signal(t, g, run, approvals.SignalPause); r.State != approvals.RunPaused || r.ReviewerID != "bob" || r.ID != run || r.Known {
		t.Fatalf("%+v", r)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := g.AwaitResume(short, run, who); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("paused: %v", err)
	}
	resumed := make(chan error, 2)
	for range 2 {
		go func() { resumed <- g.AwaitResume(t.Context(), run, who) }()
	}
	time.Sleep(10 * time.Millisecond)
	signal(t, g, run, approvals.SignalResume)
	for range 2 {
		if err := <-resumed; err != nil {
			t.Fatal(err)
		}
	}
	if r, err := g.RunByID(t.Context(), run); err != nil || r.State != approvals.RunRunning {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := g.RunByID(t.Context(), "other"); !errors.Is(err, approvals.ErrUnknownRun) {
		t.Fatal(err)
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	other := approvalstest.Request("other")
	other.RunID = "run-2"
	h, kept := approvalstest.Open(t, g, approvalstest.Request("a"), approvalstest.Request("b")), approvalstest.Open(t, g, other)
	signal(t, g, "run-1", approvals.SignalPause)
	waiting := make(chan error, 1)
	go func() { waiting <- g.AwaitResume(t.Context(), "run-1", approvals.Principal{}) }()
	r, err := g.Decide(t.Context(), approvals.Decision{RequestID: h.Requests()[0].ID, Action: approvals.ActionAbortRun, ReviewerID: "bob"})
	if err != nil || r.Status != approvals.StatusCancelled || r.Details.CancelReason != approvals.CancelRunAborted || r.Decisions[0].Action != approvals.ActionAbortRun {
		t.Fatalf("%+v, %v", r, err)
	}
	approvalstest.Await(t, h.Done(), "the hold")
	if r := h.Requests()[1]; r.Status != approvals.StatusCancelled || r.Details.CancelReason != approvals.CancelRunAborted {
		t.Fatalf("the other request of the run: %+v", r)
	}
	if err := <-waiting; !errors.Is(err, approvals.ErrRunAborted) {
		t.Fatalf("the waiting turn: %v", err)
	}
	if _, err := g.Open(t.Context(), []approvals.Request{approvalstest.Request("late")}); !errors.Is(err, approvals.ErrRunAborted) {
		t.Fatalf("a call of the aborted run: %v", err)
	}
	var invalid *approvals.InvalidError
	if _, err := g.Signal(t.Context(), approvals.Signal{RunID: "run-1", Action: approvals.SignalResume, ReviewerID: "eve"}); !errors.As(err, &invalid) {
		t.Fatalf("resume after abort: %v", err)
	}
	if r := signal(t, g, "run-1", approvals.SignalAbort); r.State != approvals.RunAborted || r.Principal.User != "ann" || r.SessionID != "s1" {
		t.Fatalf("second abort: %+v", r)
	}
	select {
	case <-kept.Done():
		t.Fatal("the other run was cancelled too")
	default:
	}
	again := approvalstest.RunGate(t, gate.Options{Store: s})
	if got, _ := again.RunState("run-1", approvals.Principal{}); got != approvals.RunAborted {
		t.Fatalf("after a restart: %s", got)
	}
}

func TestSubscribeResumes(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	id := approvalstest.Open(t, g, approvalstest.Request("x")).Requests()[0].ID
	if err := g.Record(t.Context(), approvals.Event{Type: approvals.EventCallReleased, RequestID: id}); err != nil {
		t.Fatal(err)
	}
	var first approvals.Event
	for e, err := range g.Subscribe(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		first = e
		break
	}
	if first.Type != approvals.EventApprovalRequired || first.Seq != 1 {
		t.Fatalf("%+v", first)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	live := make(chan approvals.Event)
	go func() {
		defer close(live)
		for e, err := range g.Subscribe(ctx, first.Seq+1) {
			if err != nil {
				t.Error(err)
				return
			}
			live <- e
		}
	}()
	if e := <-live; e.Type != approvals.EventCallReleased || e.Seq != 2 || e.ID == "" || e.Time.IsZero() {
		t.Fatalf("%+v", e)
	}
	signal(t, g, "run-1", approvals.SignalPause)
	if e := <-live; e.Type != approvals.EventRunPaused || e.Seq != 3 || e.RunID != "run-1" {
		t.Fatalf("%+v", e)
	}
	cancel()
	if _, open := <-live; open {
		t.Fatal("an event after the end")
	}
}
