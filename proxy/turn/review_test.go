package turn

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// newReview is the review of the calls of a request of chat.
func newReview(t *testing.T, b *bench) *review {
	t.Helper()
	return &review{engine: b.Engine, conversation: b.prepared(t, chatRequest(false))}
}

// What the policy and earlier denials make of a call.
func TestJudgeCalls(t *testing.T) {
	const rules = "profiles: none\ndefault: ask\nrules:\n  - allow: [\"ls(*)\"]\n  - deny: [\"rm(*)\"]\n    reason: never\n"
	for name, tt := range map[string]struct {
		call    string
		denied  bool // a person has denied it before
		action  intercept.Action
		outcome approvals.Outcome
		asked   bool
	}{
		"allowed":       {call: "ls", action: intercept.Release, outcome: approvals.OutcomeAllowedByRule},
		"denied":        {call: "rm", action: intercept.Deny, outcome: approvals.OutcomeDeniedByRule},
		"asked about":   {call: "mv", asked: true},
		"denied before": {call: "mv", denied: true, action: intercept.Deny, outcome: approvals.OutcomeDeniedByPerson},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, rules)
			r, call := newReview(t, b), intercept.Call{ID: "call_1", Name: tt.call, Arguments: `{"a":1}`}
			r.conversation.Request.Run = "r1"
			if tt.denied {
				before := newReview(t, b).conversation
				before.Request.Run = "r1"
				before.Denials.Deny(conversation.Denied{Count: 1, Notes: map[string]string{judge.Key(call): "no"}})
				if err := before.Denials.Record(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
			}
			answer := intercept.NewAnswer(r.conversation.Parsed, intercept.Limits{MaxBytes: 1 << 20})
			if refusal := r.judgeCalls(t.Context(), []intercept.Call{call}, answer); refusal != nil {
				t.Fatal(refusal)
			}
			j := r.calls[0]
			if j.outcome != tt.outcome || (len(r.requests) == 1) != tt.asked || (!tt.asked && j.ruling.Action != tt.action) {
				t.Errorf("outcome %q, ruling %+v, %d requests", j.outcome, j.ruling, len(r.requests))
			}
			if tt.asked && (r.requests[0].ToolName != tt.call || string(r.requests[0].Arguments) != call.Arguments || r.requests[0].TurnID != "turn1") {
				t.Errorf("people are asked %+v", r.requests[0])
			}
		})
	}
}

// What people decided becomes a ruling.
func TestDecideCall(t *testing.T) {
	final := func(status approvals.Status, d approvals.Decision) *approvals.Request {
		r := &approvals.Request{Status: status}
		if d.Action != "" {
			r.Decisions = []approvals.Decision{d}
		}
		return r
	}
	edited := json.RawMessage(`{"a":2}`)
	for name, tt := range map[string]struct {
		rules     string
		request   *approvals.Request
		freeText  bool
		action    intercept.Action
		outcome   approvals.Outcome
		arguments string
	}{
		"approved":             {request: final(approvals.StatusApproved, approvals.Decision{Action: approvals.ActionApprove, ReviewerID: "ann"}), action: intercept.Release, outcome: approvals.OutcomeAllowedByPerson},
		"approved by timeout":  {request: final(approvals.StatusApproved, approvals.Decision{Action: approvals.ActionApprove, ReviewerID: approvals.ReviewerTimeout}), action: intercept.Release, outcome: approvals.OutcomeAllowedByTimeout},
		"edited":               {request: final(approvals.StatusApproved, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: edited}), action: intercept.Edit, outcome: approvals.OutcomeModified, arguments: `{"a":2}`},
		"edited free text":     {request: final(approvals.StatusApproved, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`"hi"`)}), freeText: true, action: intercept.Edit, outcome: approvals.OutcomeModified, arguments: `hi`},
		"a rule denies it now": {rules: denyAll, request: final(approvals.StatusApproved, approvals.Decision{Action: approvals.ActionApprove}), action: intercept.Deny, outcome: approvals.OutcomeDeniedByRule},
		"denied":               {request: final(approvals.StatusDenied, approvals.Decision{Action: approvals.ActionDeny, Note: "no"}), action: intercept.Deny, outcome: approvals.OutcomeDeniedByPerson},
		"the run is aborted":   {request: final(approvals.StatusDenied, approvals.Decision{Action: approvals.ActionAbortRun}), action: intercept.Abort, outcome: approvals.OutcomeAborted},
		"expired":              {request: final(approvals.StatusExpired, approvals.Decision{}), action: intercept.Deny, outcome: approvals.OutcomeExpired},
		"cancelled":            {request: final(approvals.StatusCancelled, approvals.Decision{}), action: intercept.Abort, outcome: approvals.OutcomeAborted},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.rules == "" {
				tt.rules = "default: ask\n"
			}
			r := newReview(t, newBench(t, tt.rules))
			j := &judgedCall{call: intercept.Call{Name: "bash", Arguments: `{"a":1}`, FreeText: tt.freeText}, request: tt.request}
			r.decideCall(j, r.rules())
			if j.ruling.Action != tt.action || j.outcome != tt.outcome || j.ruling.Arguments != tt.arguments {
				t.Errorf("ruling %+v, outcome %q", j.ruling, j.outcome)
			}
			if message := j.ruling.ModelMessage != ""; message != (j.outcome != approvals.OutcomeAllowedByPerson && j.outcome != approvals.OutcomeAllowedByTimeout) {
				t.Errorf("the model or the agent reads %q", j.ruling.ModelMessage)
			}
		})
	}
}

// What a turn's calls make of its outcome.
func TestCountCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		fates []intercept.Action
		want  string
	}{
		"no calls": {nil, ""},
		"released": {[]intercept.Action{intercept.Release}, ""},
		"edited":   {[]intercept.Action{intercept.Release, intercept.Edit}, outcomeChanged},
		"denied":   {[]intercept.Action{intercept.Deny}, outcomeChanged},
		"aborted":  {[]intercept.Action{intercept.Abort, intercept.Deny}, outcomeAborted},
	} {
		var used []string
		b := newBench(t, allowAll)
		b.Used = func(grants ...string) { used = append(used, grants...) }
		r := newReview(t, b)
		for _, action := range tt.fates {
			r.calls = append(r.calls, &judgedCall{ruling: intercept.Ruling{Action: action}, outcome: approvals.OutcomeAllowedByRule, verdict: policy.Verdict{Action: policy.Allow, Grants: []string{"g1"}}})
		}
		r.decided = time.Now()
		if got := r.count(); got != tt.want || len(used) != len(tt.fates) {
			t.Errorf("%s: outcome %q, grants used %v", name, got, used)
		}
	}
}

// Denials of rules and of people count; the notes of people are remembered.
func TestDeniedAmong(t *testing.T) {
	bash, ls := intercept.Call{Name: "bash", Arguments: `{"a": 1}`}, intercept.Call{Name: "ls"}
	person := &approvals.Request{Status: approvals.StatusDenied, Decisions: []approvals.Decision{{Action: approvals.ActionDeny, Note: "no"}}}
	got := deniedAmong([]*judgedCall{
		{call: bash, outcome: approvals.OutcomeDeniedByPerson, request: person},
		{call: ls, outcome: approvals.OutcomeDeniedByPerson, again: true},
		{call: ls, outcome: approvals.OutcomeDeniedByRule},
		{call: ls, outcome: approvals.OutcomeAllowedByRule},
	})
	want := map[string]string{judge.Key(intercept.Call{Name: "bash", Arguments: `{ "a":1 }`}): "no"}
	if got.Count != 3 || !maps.Equal(got.Notes, want) {
		t.Errorf("got %+v", got)
	}
	var many []*judgedCall
	for i := range maxDeniedNotes + 1 {
		many = append(many, &judgedCall{call: intercept.Call{Name: strconv.Itoa(i)}, outcome: approvals.OutcomeDeniedByPerson})
	}
	if got := deniedAmong(many); got.Count != len(many) || len(got.Notes) != maxDeniedNotes {
		t.Errorf("%d denials, %d notes", got.Count, len(got.Notes))
	}
}

// Too many denials since the user wrote end the answer.
func TestEndAfterDenials(t *testing.T) {
	for _, tt := range []struct {
		most, before, now int
		ends              bool
	}{{0, 9, 1, false}, {3, 1, 1, false}, {3, 2, 1, true}, {3, 5, 0, false}, {1, 0, 2, true}} {
		b := newBench(t, denyAll)
		b.Limits.MaxDenials = tt.most
		r := newReview(t, b)
		before := conversation.State{Identity: *r.conversation.Identity(), Before: conversation.Denied{Count: tt.before}}
		if refusal := r.conversation.Restore(before); refusal != nil {
			t.Fatal(refusal)
		}
		r.calls = []*judgedCall{{outcome: approvals.OutcomeAllowedByRule}}
		for range tt.now {
			r.calls = append(r.calls, &judgedCall{outcome: approvals.OutcomeDeniedByRule})
		}
		r.endAfterDenials()
		if ends := r.calls[0].ruling.UserMessage != ""; ends != tt.ends {
			t.Errorf("%+v: the answer ends: %t", tt, ends)
		}
	}
}

// The audit log of one call.
func TestEventsOfACall(t *testing.T) {
	call := intercept.Call{ID: "c", Name: "bash", Arguments: `{"a":1}`}
	for name, tt := range map[string]struct {
		action    intercept.Action
		outcome   approvals.Outcome
		continued bool
		want      string
	}{
		"allowed by a rule":          {action: intercept.Release, outcome: approvals.OutcomeAllowedByRule, want: "call_allowed call_released"},
		"approved":                   {action: intercept.Release, outcome: approvals.OutcomeAllowedByPerson, want: "call_released"},
		"edited":                     {action: intercept.Edit, outcome: approvals.OutcomeModified, want: "call_modified call_released"},
		"rewritten":                  {action: intercept.Edit, outcome: approvals.OutcomeAllowedByRule, want: "call_allowed call_modified call_released"},
		"denied":                     {outcome: approvals.OutcomeDeniedByPerson, want: "call_denied"},
		"denied, the model reads it": {outcome: approvals.OutcomeDeniedByRule, continued: true, want: "call_denied denial_told"},
		"aborted":                    {action: intercept.Abort, outcome: approvals.OutcomeAborted, want: "call_denied"},
	} {
		j := &judgedCall{call: call, ruling: intercept.Ruling{Action: tt.action, Arguments: `{"a":2}`}, outcome: tt.outcome}
		var types []string
		for _, e := range j.appendEvents(nil, newReview(t, newBench(t, allowAll)).conversation, tt.continued) {
			types = append(types, string(e.Type))
			if e.TurnID != "turn1" || e.ToolName != "bash" || e.Outcome != string(tt.outcome) {
				t.Errorf("%s: %+v", name, e)
			}
			if e.Type == approvals.EventCallModified && (string(e.Before) != `{"a":1}` || string(e.After) != `{"a":2}`) {
				t.Errorf("%s: from %s to %s", name, e.Before, e.After)
			}
		}
		if got := strings.Join(types, " "); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
