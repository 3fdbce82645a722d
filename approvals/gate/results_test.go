package gate_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

// decided opens a request about a call and decides it.
func decided(t *testing.T, g *gate.Gate, call string, action approvals.Action) *approvals.Request {
	t.Helper()
	q := approvalstest.Request("x")
	q.SessionID, q.ToolCallID = "s1", call
	r, err := g.Decide(t.Context(), approvals.Decision{RequestID: approvalstest.Open(t, g, q).Requests()[0].ID, Action: action, ReviewerID: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

// reported is a result of a released call.
func reported(t *testing.T, g *gate.Gate, r *approvals.Request, preview string) approvals.RequestResult {
	t.Helper()
	result, ok := g.Results.Awaited(r.Principal, r.SessionID, r.ToolCallID)
	if !ok {
		t.Fatalf("no released call %s waits for a result", r.ToolCallID)
	}
	now := time.Now().UTC()
	result.Result.ReceivedAt, result.Result.Preview = &now, preview
	return result
}

// resultOf waits until the result of a request has arrived.
func resultOf(t *testing.T, s approvalstest.Store, id string) (result approvals.CallResult) {
	t.Helper()
	approvalstest.Eventually(t, "the result of "+id, func() bool {
		stored, err := s.GetRequest(t.Context(), id)
		if err == nil && stored.Request.Details.Result != nil {
			result = *stored.Request.Details.Result
		}
		return result.ReceivedAt != nil
	})
	return result
}

// A result is recorded on any replica, once, of a call that was released in the same
// session of the same principal.
func TestResults(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s, Results: true})
	other := approvalstest.RunGate(t, gate.Options{Store: s, Results: true})
	r := decided(t, g, "call_1", approvals.ActionApprove)
	if g.Results.Any() {
		t.Error("a call that was not released waits for a result")
	}
	g.Results.Released(r)
	approvalstest.Eventually(t, "the other replica knows the call", other.Results.Any)
	for name, change := range map[string]func(*approvals.Request){
		"tenant": func(r *approvals.Request) { r.Principal.Tenant += "x" }, "user": func(r *approvals.Request) { r.Principal.User += "x" },
		"agent": func(r *approvals.Request) { r.Principal.Agent += "x" }, "session": func(r *approvals.Request) { r.SessionID += "x" },
	} {
		foreign := *r
		change(&foreign)
		if _, ok := other.Results.Awaited(foreign.Principal, foreign.SessionID, "call_1"); ok || other.Results.AnyIn(foreign.Principal, foreign.SessionID) {
			t.Errorf("another %s can report the result", name)
		}
	}
	if _, ok := other.Results.Awaited(r.Principal, r.SessionID, "call_2"); ok || !other.Results.AnyIn(r.Principal, r.SessionID) {
		t.Error("another call can report the result, or the call cannot")
	}
	first, late := reported(t, other, r, "first"), reported(t, g, r, "late")
	other.Results.Record(first)
	if got := resultOf(t, s, r.ID); got.Preview != "first" || !got.ReleasedAt.Equal(first.Result.ReleasedAt) {
		t.Errorf("the result is %+v", got)
	}
	approvalstest.Eventually(t, "no call waits", func() bool { return !g.Results.Any() && !other.Results.Any() })
	g.Results.Record(late)
	after := decided(t, g, "call_3", approvals.ActionApprove)
	g.Results.Released(after)
	g.Results.Record(reported(t, g, after, "after"))
	resultOf(t, s, after.ID)
	if got := resultOf(t, s, r.ID); got.Preview != "first" {
		t.Errorf("the result was replaced: %+v", got)
	}
	events := approvalstest.EventsOf(t, s, r.ID)
	want := []approvals.EventType{approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventCallResult}
	if diff := cmp.Diff(want, approvalstest.EventTypes(events)); diff != "" {
		t.Error(diff)
	}
	if e := events[len(events)-1]; e.Result == nil || e.Result.Preview != "first" {
		t.Errorf("the event is %+v", e)
	}
}

// The reported result of a denied call is not recorded, and a nil *Results records
// nothing.
func TestResultsOfCallsThatWereNotReleased(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s, Results: true})
	r := decided(t, g, "call_1", approvals.ActionDeny)
	now := time.Now()
	g.Results.Record(approvals.RequestResult{Request: r.ID, Result: approvals.CallResult{ReleasedAt: now, ReceivedAt: &now}})
	g.Results.Record(approvals.RequestResult{Request: "unknown", Result: approvals.CallResult{ReleasedAt: now, ReceivedAt: &now}})
	released := decided(t, g, "call_2", approvals.ActionApprove)
	g.Results.Released(released)
	g.Results.Record(reported(t, g, released, ""))
	resultOf(t, s, released.ID)
	if stored, err := s.GetRequest(t.Context(), r.ID); err != nil || stored.Request.Details.Result != nil {
		t.Errorf("%v: %+v", err, stored.Request.Details.Result)
	}
	off := approvalstest.RunGate(t, gate.Options{Store: s})
	if off.Results.Released(r); off.Results.Any() {
		t.Error("results are recorded without Options.Results")
	}
}

// An event that cannot be written is written later.
func TestResultWhoseEventFails(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	var down atomic.Bool
	g := approvalstest.RunGate(t, gate.Options{Store: &faulty{Store: s, appendFails: down.Load}, Results: true})
	r := decided(t, g, "call_1", approvals.ActionApprove)
	g.Results.Released(r)
	down.Store(true)
	g.Results.Record(reported(t, g, r, "x"))
	resultOf(t, s, r.ID)
	down.Store(false)
	approvalstest.Eventually(t, "the event is in the log", func() bool {
		events := approvalstest.EventsOf(t, s, r.ID)
		return events[len(events)-1].Type == approvals.EventCallResult
	})
}
