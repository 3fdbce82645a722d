package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

// signal sends a signal by principal.
func (w *world) signal(action approvals.SignalAction, who approvals.Principal) approvals.PrincipalSignal {
	w.t.Helper()
	s, err := w.console.Runs().SignalPrincipal(w.t.Context(), approvals.PrincipalSignalPayload{Principal: who, Action: action})
	if err != nil || s.Action != action || s.Principal != who || s.ReviewerID != "local" || s.Since.IsZero() {
		w.t.Fatalf("%s %v: %+v, %v", action, who, s, err)
	}
	return s
}

// signals waits until as many signals by principal are in force.
func (w *world) signals(n int) []approvals.PrincipalSignal {
	w.t.Helper()
	for deadline := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		all, err := w.console.Runs().Signals(w.t.Context())
		if err != nil || time.Now().After(deadline) {
			w.t.Fatalf("%d signals are in force, want %d: %v", len(all), n, err)
		}
		if len(all) == n {
			return all
		}
	}
}

// run waits until a run is in a state.
func (w *world) run(id string, want approvals.RunState) approvals.Run {
	w.t.Helper()
	for deadline := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		run, err := w.console.Runs().Get(w.t.Context(), id)
		if err == nil && run.State == want {
			return run
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("run %s is %+v, want %s: %v", id, run, want, err)
		}
	}
}

// eventsOf counts the events of a type in the audit log.
func (w *world) eventsOf(typ approvals.EventType) (found []approvals.Event) {
	w.t.Helper()
	for e, err := range w.console.Audit(w.t.Context(), time.Time{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if e.Type == typ {
			found = append(found, e)
		}
	}
	return found
}

// asAgent sends a streamed request in a run.
func (w *world) asAgent(key, run string) *call {
	w.t.Helper()
	return w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer "+key, "X-Heldcall-Run", run)
}

// waits checks that a call is not released while two heartbeats arrive.
func (c *call) waits() {
	c.t.Helper()
	if got := c.until(": keepalive") + c.until(": keepalive"); leaks(got) != "" {
		c.t.Errorf("a call of a paused run leaks: %s", got)
	}
}

func (c *call) passes() {
	c.t.Helper()
	if got := c.rest(); !strings.Contains(got, "call_sesame") {
		c.t.Errorf("the call is not released: %d %s", c.resp.StatusCode, got)
	}
}

// refused checks that a request is refused because its run is aborted.
func (c *call) refused() {
	c.t.Helper()
	if got := c.rest(); c.resp.StatusCode != 403 || errorCode(got) != "run_aborted" {
		c.t.Errorf("%d %s, want 403 run_aborted", c.resp.StatusCode, got)
	}
}

// A pause of an agent applies to its runs, present and future, until it is resumed. A signal
// to one run does not lift it.
func TestPausedAgent(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, callThenText, twoClients)
	coder := approvals.Principal{Agent: "coder", Tenant: "acme"}
	w.asAgent("ann-key", "first").passes()
	w.run("first@acme", approvals.RunRunning)
	w.signal(approvals.SignalPause, coder)
	first, second := w.asAgent("ann-key", "first"), w.asAgent("bob-key", "second")
	first.waits()
	second.waits()
	w.asAgent("eve-key", "other").passes()
	if run := w.run("first@acme", approvals.RunPaused); len(run.Signals) != 1 || run.Signals[0].Principal != coder || run.ReviewerID != "" {
		t.Errorf("a run of the paused agent: %+v", run)
	}
	resumed, err := w.console.Runs().Signal(t.Context(), approvals.Signal{RunID: "first@acme", Action: approvals.SignalResume})
	if err != nil || resumed.State != approvals.RunPaused || len(resumed.Signals) != 1 || resumed.Signals[0].ReviewerID != "local" {
		t.Errorf("one run resumed: %+v, %v", resumed, err)
	}
	first.waits()
	w.signal(approvals.SignalResume, coder)
	first.passes()
	second.passes()
	w.signals(0)
	for _, typ := range []approvals.EventType{approvals.EventRunPaused, approvals.EventRunResumed} {
		if events := w.eventsOf(typ); len(events) != 1 || events[0].Principal != coder || events[0].ReviewerID != "local" || events[0].RunID != "" {
			t.Errorf("%s: %+v", typ, events)
		}
	}
}

// An abort of a user cancels the held calls of their runs and refuses new ones, also after a
// restart, until a resume.
func TestAbortedUser(t *testing.T) {
	t.Parallel()
	var config app.Config
	w := build(t, askAll, callThenText, twoClients, restarting(&config))
	ann := approvals.Principal{User: "ann"}
	held, other := w.asAgent("ann-key", "held"), w.asAgent("bob-key", "bobs")
	requests := w.pending(2)
	w.signal(approvals.SignalAbort, ann)
	if got := held.rest(); leaks(got) != "" || !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Errorf("the held call of an aborted run: %s", got)
	}
	for _, r := range requests {
		if r.Principal.User == "ann" && w.status(r.ID, approvals.StatusCancelled).Details.CancelReason != approvals.CancelRunAborted {
			t.Errorf("request of an aborted run: %+v", r)
		}
	}
	w.asAgent("ann-key", "held").refused()
	w.asAgent("eve-key", "new").refused()
	w.post("/v1/chat/completions", wholeRequest, "Authorization", "Bearer ann-key").refused() // a run without a name
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	other.passes()
	if _, err := w.console.Runs().SignalPrincipal(t.Context(), approvals.PrincipalSignalPayload{Principal: ann, Action: approvals.SignalPause}); err == nil {
		t.Error("an abort was weakened to a pause")
	}
	w.restart(config)
	w.signals(1)
	w.asAgent("ann-key", "third").refused()
	w.signal(approvals.SignalResume, ann)
	again := w.asAgent("ann-key", "held")
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	again.passes()
}

// Signals by principal are sent over NATS too, and reach all replicas.
func TestSignalsReachReplicas(t *testing.T) {
	t.Parallel()
	nats := startNATS(t)
	var config app.Config
	first := build(t, allowAll, callThenText, twoClients, func(c *app.Config) { c.NATS.URL = nats; config = *c })
	second := &world{t: t, upstream: first.upstream}
	second.start(config)
	bot, err := natsgo.Connect(nats)
	if err != nil {
		t.Fatal(err)
	}
	defer bot.Close()
	ask := func(subject, payload string) map[string]any {
		t.Helper()
		reply, err := bot.Request(subject, []byte(payload), soon)
		var fields map[string]any
		if err != nil || json.Unmarshal(reply.Data, &fields) != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		return fields
	}
	if got := ask("heldcall.v1.signals.local", `{"principal":{"tenant":"acme"},"action":"pause_run"}`); got["reviewer_id"] != "local" || got["action"] != "pause_run" {
		t.Fatalf("the reply is %v", got)
	}
	if got := ask("heldcall.v1.svc.signals.list", ``); len(got["items"].([]any)) != 1 {
		t.Errorf("in force: %v", got)
	}
	for _, w := range []*world{first, second} {
		w.signals(1)
		paused := w.asAgent("ann-key", "r")
		paused.waits()
		defer paused.passes()
	}
	if got := ask("heldcall.v1.signals.local", `{"principal":{},"action":"pause_run"}`); got["code"] != "invalid" || got["field"] != "principal" {
		t.Errorf("without a principal: %v", got)
	}
	if got := ask("heldcall.v1.signals.bob", `{"principal":{"tenant":"acme"},"action":"resume_run"}`); got["code"] != "unknown_reviewer" {
		t.Errorf("by a stranger: %v", got)
	}
	second.signal(approvals.SignalResume, approvals.Principal{Tenant: "acme"})
	first.signals(0)
	second.signal(approvals.SignalAbort, approvals.Principal{Tenant: "other"})
	first.signals(1)
	first.asAgent("eve-key", "e").refused()
}

// A run ends when its agent is silent, once over all replicas. A later request makes it
// running again.
func TestRunEndsInSilence(t *testing.T) {
	t.Parallel()
	nats := startNATS(t)
	var config app.Config
	first := build(t, "rules:\n  - allow: [bash]\n", callThenText, func(c *app.Config) { c.NATS.URL, c.Runs.Idle = nats, time.Second; config = *c })
	second := &world{t: t, upstream: first.upstream}
	second.start(config)
	for n := 1; n <= 2; n++ {
		first.asAgent("", "r").passes()
		for _, w := range []*world{first, second} {
			if run := w.run("r", approvals.RunEnded); run.LastOutcome != approvals.OutcomeAllowedByRule || run.ActiveAt.IsZero() {
				t.Errorf("the run ended as %+v", run)
			}
		}
		time.Sleep(2 * config.Runs.Idle) // for another replica to end it too
		if events := first.eventsOf(approvals.EventRunEnded); len(events) != n || events[n-1].RunID != "r" || events[n-1].Outcome != string(approvals.OutcomeAllowedByRule) {
			t.Fatalf("after %d silences: %+v", n, events)
		}
	}
}

// A held request keeps a run from ending, and a crash does not.
func TestRunEndsAfterItsHold(t *testing.T) {
	t.Parallel()
	var config app.Config
	w := build(t, askAll, callThenText, func(c *app.Config) { c.Runs.Idle = time.Second }, restarting(&config))
	held := w.asAgent("", "held")
	id := w.pending(1)[0].ID
	time.Sleep(3 * config.Runs.Idle)
	if run := w.run("held", approvals.RunRunning); run.LastOutcome != "" {
		t.Errorf("while a call is held: %+v", run)
	}
	w.decide(id, approvals.Decision{Action: approvals.ActionDeny})
	held.rest()
	w.restart(config)
	if run := w.run("held", approvals.RunEnded); run.LastOutcome != approvals.OutcomeDeniedByPerson {
		t.Errorf("after a restart: %+v", run)
	}
	time.Sleep(config.Runs.Idle)
	if events := w.eventsOf(approvals.EventRunEnded); len(events) != 1 || events[0].SessionID == "" {
		t.Errorf("events: %+v", events)
	}
}

// A run ends when the next one of its session begins.
func TestRunEndsWhenTheConversationMovesOn(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, callThenText)
	const next = `{"model":"m","stream":true,"messages":[{"role":"user","content":"do it"},{"role":"assistant","content":"Done."},{"role":"user","content":"and now that"}]}`
	w.post("/v1/chat/completions", streamedRequest).passes()
	runs, err := w.console.Runs().List(t.Context())
	if err != nil || len(runs) != 1 || runs[0].State != approvals.RunRunning || runs[0].LastOutcome != approvals.OutcomeAllowedByRule {
		t.Fatalf("after the first call: %+v, %v", runs, err)
	}
	w.post("/v1/chat/completions", next).passes()
	ended := w.run(runs[0].ID, approvals.RunEnded)
	again, err := w.console.Runs().List(t.Context())
	again = slices.DeleteFunc(again, func(r approvals.Run) bool { return r.ID == ended.ID })
	if err != nil || len(again) != 1 || again[0].State != approvals.RunRunning || again[0].SessionID != ended.SessionID {
		t.Errorf("beside the ended run: %+v, %v", again, err)
	}
	var events []approvals.Event
	for deadline := time.Now().Add(soon); len(events) == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		events = w.eventsOf(approvals.EventRunEnded) // it is written just after the record
	}
	if len(events) != 1 || events[0].RunID != ended.ID {
		t.Errorf("events: %+v", events)
	}
}
