package turn

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// How a hold ends that people have not decided: what the agent gets, and what becomes of
// the request.
func TestHoldsThatEndUndecided(t *testing.T) {
	for name, tt := range map[string]struct {
		end     func(*Engine, context.CancelCauseFunc, *recorder)
		status  approvals.Status // of the request afterwards
		outcome string
		broken  bool // the answer must not end properly
	}{
		"heldcall stops": {
			end:    func(e *Engine, _ context.CancelCauseFunc, _ *recorder) { e.Drain() },
			status: approvals.StatusPending, outcome: outcomeInterrupted, broken: true,
		},
		"heldcall ends its turns": {
			end:    func(_ *Engine, cancel context.CancelCauseFunc, _ *recorder) { cancel(ErrShuttingDown) },
			status: approvals.StatusPending, outcome: outcomeInterrupted, broken: true,
		},
		"the agent disconnects": {
			end:    func(_ *Engine, cancel context.CancelCauseFunc, _ *recorder) { cancel(errDisconnected) },
			status: approvals.StatusCancelled, outcome: outcomeAgentGone, broken: true,
		},
		"a heartbeat cannot be written": {
			end:    func(_ *Engine, _ context.CancelCauseFunc, a *recorder) { a.gone = true },
			status: approvals.StatusCancelled, outcome: outcomeAgentGone, broken: true,
		},
	} {
		for stored, room := range map[string]error{"stored": nil, "not stored": approvals.ErrNoRoom} {
			t.Run(name+", "+stored, func(t *testing.T) {
				g, s := newGate(t)
				e, r, a := NewEngine(options(t, "default: ask\n", g, s), nil), chatRequest(true), newRecorder()
				e.Keeper = &keeper{failed: room}
				status := tt.status
				if room == nil {
					status = approvals.StatusPending
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				turn := e.New(ctx, r, a, &model{answers: []canned{answerTo(r.Envelope, callBash(`{}`))}}, nil)
				if refusal := turn.Prepare(); refusal != nil {
					t.Fatal(refusal)
				}
				turn.stepTo(t, Waiting)
				tt.end(e, cancel, a)
				ended, err := turn.Run()
				if !ended || (err != nil) != tt.broken || turn.Outcome() != tt.outcome {
					t.Errorf("ended %t, %v, outcome %s: %s", ended, err, turn.Outcome(), a.body)
				}
				page, err := g.Requests(t.Context(), approvals.Filter{Status: status})
				if err != nil || len(page.Items) != 1 {
					t.Errorf("%d requests are %s, %v", len(page.Items), status, err)
				}
				if err == nil && len(page.Items) == 1 && slices.Contains(page.Items[0].Details.Flags, notStored) != (room != nil) {
					t.Errorf("flags %q", page.Items[0].Details.Flags)
				}
				if bytes.Contains(a.body, []byte("bash")) {
					t.Errorf("the call has leaked: %s", a.body)
				}
			})
		}
	}
}

// A hold sends heartbeats until people decide.
func TestHoldSendsHeartbeats(t *testing.T) {
	g, s := newGate(t)
	e, r, a := NewEngine(options(t, "default: ask\n", g, s), nil), chatRequest(false), newRecorder()
	turn := heldTurn(t, e, r, a, &model{answers: []canned{answerTo(r.Envelope, callBash(`{}`))}})
	if a.Started() {
		t.Error("the answer starts before it is needed")
	}
	for deadline := time.Now().Add(time.Minute); !a.Started(); {
		if turn.state = turn.wait(); turn.state != Waiting || time.Now().After(deadline) {
			t.Fatalf("no heartbeat, and the turn is %v", turn.state)
		}
	}
	decide(t, g, approvals.Decision{Action: approvals.ActionApprove})
	if ended, err := turn.Run(); !ended || err != nil || turn.Outcome() != outcomeHeld || !bytes.Contains(a.body, []byte(`"bash"`)) {
		t.Errorf("ended %t, %v, outcome %s: %s", ended, err, turn.Outcome(), a.body)
	}
}

// The calls of a paused run are released when it continues, and not if it is aborted.
func TestPausedRun(t *testing.T) {
	for _, tt := range []struct {
		action   approvals.SignalAction
		outcome  string
		released bool
	}{{approvals.SignalResume, outcomePassed, true}, {approvals.SignalAbort, outcomeAborted, false}} {
		g, s := newGate(t)
		e, r, a := NewEngine(options(t, "profiles: none\ndefault: ask\nrules:\n  - allow: [\"bash(*)\"]\n", g, s), nil), chatRequest(true), newRecorder()
		r.Run = "r1"
		signal(t, g, approvals.SignalPause)
		turn := e.New(t.Context(), r, a, &model{answers: []canned{answerTo(r.Envelope, callBash(`{"a":1}`))}}, nil)
		if refusal := turn.Prepare(); refusal != nil {
			t.Fatal(refusal)
		}
		turn.stepTo(t, Paused)
		before := len(a.body)
		if turn.state = turn.awaitResume(); turn.state != Paused || len(a.body) == before {
			t.Fatalf("the turn is %v while its run is paused, after a heartbeat of %d bytes", turn.state, len(a.body)-before)
		}
		signal(t, g, tt.action)
		if ended, err := turn.Run(); !ended || err != nil || turn.Outcome() != tt.outcome || bytes.Contains(a.body, []byte("bash")) != tt.released {
			t.Errorf("%s: ended %t, %v, outcome %s: %s", tt.action, ended, err, turn.Outcome(), a.body)
		}
	}
}

// What cannot be asked is not released.
func TestAskFailsClosed(t *testing.T) {
	b, r, a := newBench(t, "default: ask\n"), chatRequest(true), newRecorder()
	m := &model{answers: []canned{answerTo(r.Envelope, callBash(`{}`)), answerTo(r.Envelope, fakemodel.Answer{Text: "x"})}}
	if outcome, err := run(t, b.Engine, r, a, m); err != nil || outcome != outcomeFailed || bytes.Contains(a.body, []byte("bash")) {
		t.Errorf("%v, outcome %s: %s", err, outcome, a.body)
	}
	if n := testutil.ToFloat64(b.metrics.storeErrors.WithLabelValues("open")); n != 1 {
		t.Errorf("%v failures are counted", n)
	}
}

// signal steers the run r1.
func signal(t *testing.T, g *gate.Gate, action approvals.SignalAction) {
	t.Helper()
	if _, err := g.Signal(t.Context(), approvals.Signal{RunID: "r1", Action: action, ReviewerID: "ann"}); err != nil {
		t.Fatal(err)
	}
}
