package app_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// settled waits until an approval has an outcome in a state.
func (w *world) settled(id string, want approvals.ApprovalState) approvals.ApprovalOutcome {
	w.t.Helper()
	var outcome approvals.ApprovalOutcome
	w.until("the approval of "+id+" is "+string(want), func() bool {
		r, err := w.console.Request(w.t.Context(), id)
		if err != nil || r.Outcome == nil {
			return false
		}
		outcome = *r.Outcome
		return outcome.State == want
	})
	return outcome
}

// notReleased waits until an approval is known to have had no effect, for a reason, in the request, in lists and in the
// audit log, once.
func (w *world) notReleased(id, reason string) {
	w.t.Helper()
	if o := w.settled(id, approvals.ApprovalNotReleased); o.Reason != reason {
		w.t.Errorf("the reason is %q, want %q", o.Reason, reason)
	}
	page, err := w.console.Requests(w.t.Context(), approvals.Filter{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range page.Items {
		if r.ID == id && r.NotRun() != "approved, not run: "+reason {
			w.t.Errorf("the list has %+v", r.Outcome)
		}
	}
	w.event("call_not_released")
	events := w.eventsOf(approvals.EventCallNotReleased)
	if len(events) != 1 || events[0].RequestID != id || events[0].Note != reason {
		w.t.Errorf("events %+v", events)
	}
}

var approved = approvals.Decision{Action: approvals.ActionApprove}

// TestApprovalReleased: the request has the release as its outcome, and no outcome before it is decided.
func TestApprovalReleased(t *testing.T) {
	t.Parallel()
	for name, results := range map[string]bool{"results are recorded": true, "results are not recorded": false} {
		for action, decision := range map[string]approvals.Decision{
			"approved": approved, "edited": {Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{"command":"pwd"}`)},
		} {
			t.Run(name+", "+action, func(t *testing.T) {
				t.Parallel()
				var c app.Config
				w := build(t, askAll, lister().Reply, func(c *app.Config) { c.Audit.Results = results }, restarting(&c))
				s := speeches[0]
				answer := w.begin(s.path, s.body(true))
				held := w.pending(1)[0]
				if held.Outcome != nil {
					t.Errorf("a pending request has the outcome %+v", held.Outcome)
				}
				w.decide(held.ID, decision)
				<-answer
				if o := w.settled(held.ID, approvals.ApprovalReleased); o.Reason != "" || o.At == nil {
					t.Errorf("the outcome is %+v", o)
				}
				w = w.restarted(c)
				w.settled(held.ID, approvals.ApprovalReleased)
				if events := w.eventsOf(approvals.EventCallNotReleased); len(events) > 0 {
					t.Errorf("events %+v", events)
				}
			})
		}
	}
}

// TestApprovalAfterTheAgentHasGone: the approval waits for the agent, and is known to have had no effect when the
// agent has not come back, also over a restart.
func TestApprovalAfterTheAgentHasGone(t *testing.T) {
	t.Parallel()
	var c app.Config
	w := build(t, askAll, lister().Reply, func(c *app.Config) { c.Hold.OrphanTTL = time.Hour }, restarting(&c))
	held := w.detached(speeches[0], speeches[0].body(true))
	w.decide(held.ID, approved)
	waits := approvals.ApprovalOutcome{State: approvals.ApprovalWaiting, Reason: "the call is released when the agent reconnects"}
	if o := w.settled(held.ID, approvals.ApprovalWaiting); o != waits {
		t.Errorf("the outcome is %+v", o)
	}
	w = w.restarted(c)
	if o := w.settled(held.ID, approvals.ApprovalWaiting); o != waits {
		t.Errorf("after a restart the outcome is %+v", o)
	}
	c.Hold.OrphanTTL = time.Millisecond
	w = w.restarted(c)
	w.notReleased(held.ID, approvals.NotReleasedAgentGone)
	w = w.restarted(c)
	w.notReleased(held.ID, approvals.NotReleasedAgentGone)
}

// TestApprovalOfAReleasedCall: a process that died after the release was in the log, and before it was in the request,
// does not make the next one say that the call was not released.
func TestApprovalOfAReleasedCall(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, lister().Reply, func(c *app.Config) { c.Hold.OrphanTTL = time.Second })
	held := w.detached(speeches[0], speeches[0].body(true))
	e := approvals.Event{Type: approvals.EventCallReleased, Tenant: held.Principal.Tenant, Principal: held.Principal, RequestID: held.ID, TurnID: held.TurnID}
	if err := w.app.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	w.decide(held.ID, approved)
	w.settled(held.ID, approvals.ApprovalReleased)
	if events := w.eventsOf(approvals.EventCallNotReleased); len(events) > 0 {
		t.Errorf("events %+v", events)
	}
}

// TestApprovalOfAStoppedRun: an approved call of a run that is stopped is not released, with and without its agent.
func TestApprovalOfAStoppedRun(t *testing.T) {
	t.Parallel()
	t.Run("the agent has left", func(t *testing.T) {
		t.Parallel()
		w := build(t, askAll, lister().Reply)
		held := w.detached(speeches[0], speeches[0].body(true))
		w.decide(held.ID, approved)
		if _, err := w.console.Runs().Signal(t.Context(), approvals.Signal{RunID: held.RunID, Action: approvals.SignalAbort}); err != nil {
			t.Fatal(err)
		}
		w.notReleased(held.ID, approvals.NotReleasedRunStopped)
	})
	t.Run("with another call of the answer", func(t *testing.T) {
		t.Parallel()
		w := build(t, askAll, fakemodel.Answer{Calls: []fakemodel.Call{{ID: "a", Name: "bash", Arguments: `{"command":"ls a"}`}, {ID: "b", Name: "bash", Arguments: `{"command":"ls b"}`}}}.Reply)
		answer := w.begin(speeches[0].path, speeches[0].body(true))
		held := w.pending(2)
		w.decide(held[0].ID, approved)
		if o := w.settled(held[0].ID, approvals.ApprovalWaiting); o.Reason != "the agent gets the call with the other calls of the answer" {
			t.Errorf("the outcome is %+v", o)
		}
		w.decide(held[1].ID, approvals.Decision{Action: approvals.ActionAbortRun})
		<-answer
		w.notReleased(held[0].ID, approvals.NotReleasedRunStopped)
	})
}

// TestApprovalThatARuleDenies: a rule that is newer than the approval denies the call.
func TestApprovalThatARuleDenies(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, lister().Reply)
	held := w.detached(speeches[0], speeches[0].body(true))
	w.decide(held.ID, approved)
	if err := os.WriteFile(w.policyFile, []byte(askAll+"\nrules:\n  - deny: [bash]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.until("the policy is read", func() bool { return len(w.eventsOf(approvals.EventPolicyChanged)) > 1 })
	<-w.begin(speeches[0].path, speeches[0].body(true), retried...)
	w.notReleased(held.ID, approvals.NotReleasedDenied)
}

// TestApprovalOfAParkedCall: the approval stays valid when the turn of the parked call has ended.
func TestApprovalOfAParkedCall(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), fakemodel.Answer{Text: "It waits."}, list("call_sesame2Xk9", sesame), fakemodel.Answer{Text: "Done."}), parks, func(c *app.Config) { c.Hold.OrphanTTL = time.Second })
	k := newTalk(w, fakemodel.Chat, true)
	k.say("do it")
	held := w.pending(1)[0]
	w.decide(held.ID, approved)
	w.until("the approval waits for the agent", func() bool { // and no more for the other calls of the answer
		reason := w.settled(held.ID, approvals.ApprovalWaiting).Reason
		return strings.Contains(reason, "may make the call once") || strings.Contains(reason, "has not got")
	})
	w.until("the parked turn is gone", func() bool {
		r, err := w.console.Request(t.Context(), held.ID)
		return err == nil && r.Agent == nil
	})
	w.settled(held.ID, approvals.ApprovalWaiting)
	k.say("what else?")
	if third := k.say("is it approved?"); len(third.calls) != 1 {
		t.Fatalf("the approved call is not released: %+v", third)
	}
	w.settled(held.ID, approvals.ApprovalReleased)
}
