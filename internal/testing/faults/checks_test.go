//go:build faults

package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/approvals"
)

// outcome is what a seed left. The checks read it.
type outcome struct {
	plan     *plan
	front    *front
	model    *model
	reviews  map[string][]*review           // by request
	requests map[string][]approvals.Request // by call id, oldest first
	events   []approvals.Event
	reports  map[string]report // by conversation
	recovery error             // of faults, of the replicas' recovery and of the agents' programs
	chain    error             // of the audit log
	ended    time.Time
}

// checks are the promises of a seed. Each returns its violations.
var checks = []struct {
	name string
	find func(*outcome) []string
}{
	{"leaked bytes", (*outcome).leaked},
	{"lost decisions", (*outcome).lostDecisions},
	{"decisions without effect", (*outcome).withoutEffect},
	{"asked twice", (*outcome).askedTwice},
	{"upstream calls repeated", (*outcome).repeatedUpstream},
	{"holds without end", (*outcome).endless},
	{"agents without answer", (*outcome).unanswered},
	{"audit log", (*outcome).audit},
	{"recovery", (*outcome).recovered},
}

// eachAsked yields the calls that people are asked about.
func (o *outcome) eachAsked(yield func(*conversation, *call)) {
	for _, c := range o.plan.conversations {
		for _, call := range c.calls {
			if call.asked() {
				yield(c, call)
			}
		}
	}
}

// leaked returns the markers that an agent got before an approval was sent, or whose request
// did not end as approved.
func (o *outcome) leaked() (bad []string) {
	o.eachAsked(func(c *conversation, call *call) {
		approve, edit := o.releases(call)
		for _, m := range []struct {
			what, marker string
			since        []time.Time // when decisions were sent that may release it
		}{
			{"id", strings.TrimPrefix(call.id, "call_"), append(approve, edit...)},
			{"arguments", call.marker, approve},
			{"edited arguments", call.edited, edit},
		} {
			seen := o.front.firstSeen(m.marker)
			if seen.IsZero() {
				continue
			}
			early := true
			for _, sent := range m.since {
				early = early && seen.Before(sent)
			}
			if early {
				bad = append(bad, fmt.Sprintf("%s: the %s of call %s reached the agent at %s, decisions that release it were sent at %v",
					c.name, m.what, call.id, clock(seen), m.since))
			}
		}
	})
	return bad
}

// releases returns when the decisions on a call were sent that its requests ended with, those
// that approve and those that edit.
func (o *outcome) releases(c *call) (approve, edit []time.Time) {
	for _, request := range o.requests[c.id] {
		final, _ := request.FinalDecision()
		for _, v := range o.reviews[request.ID] {
			switch {
			case v.note != final.Note:
			case final.Action == approvals.ActionApprove:
				approve = append(approve, v.sent)
			case final.Action == approvals.ActionModifyArgs:
				edit = append(edit, v.sent)
			}
		}
	}
	return approve, edit
}

// lostDecisions returns the accepted decisions that are not in the store or the audit log, and
// requests with two accepted decisions or with decisions that were never answered.
func (o *outcome) lostDecisions() (bad []string) {
	logged := map[string]int{} // note -> events
	for _, e := range o.events {
		if e.Type == approvals.EventApprovalDecision {
			logged[e.Note]++
		}
	}
	o.eachAsked(func(c *conversation, call *call) {
		for _, request := range o.requests[call.id] {
			final, _ := request.FinalDecision()
			accepted := 0
			for _, v := range o.reviews[request.ID] {
				switch {
				case v.accepted:
					accepted++
					if final.Note != v.note {
						bad = append(bad, fmt.Sprintf("%s: %q was accepted and request %s is %s, its decision %q", c.name, v.note, request.ID, request.Status, final.Note))
					}
					if logged[v.note] != 1 {
						bad = append(bad, fmt.Sprintf("%s: %q was accepted and is in the audit log %d times", c.name, v.note, logged[v.note]))
					}
				case !v.lost && !v.sent.IsZero():
					bad = append(bad, fmt.Sprintf("%s: %q was never answered: %v", c.name, v.note, v.err))
				}
			}
			if accepted > 1 {
				bad = append(bad, fmt.Sprintf("%s: %d decisions on request %s were accepted", c.name, accepted, request.ID))
			}
		}
	})
	return bad
}

// withoutEffect returns the decided calls that an agent with an answer got otherwise than they
// were decided, and results that the model was sent otherwise.
func (o *outcome) withoutEffect() (bad []string) {
	o.eachAsked(func(c *conversation, call *call) {
		got, answered := o.reports[c.name]
		requests := o.requests[call.id]
		if !answered || got.Error != "" || (c.leave > 0 && !c.returns) || len(requests) == 0 {
			return
		}
		want := ""
		last := requests[len(requests)-1]
		final, _ := last.FinalDecision()
		switch {
		case last.Status != approvals.StatusApproved:
		case final.Action == approvals.ActionModifyArgs:
			want = call.edited
		default:
			want = call.marker
		}
		ran := ""
		for _, made := range got.Calls {
			if made.ID == call.id {
				ran = gjson.Get(made.Arguments, "job").String()
			}
		}
		if ran != want {
			bad = append(bad, fmt.Sprintf("%s: request %s is %s and the agent ran %q, want %q; it ended with %q, %q", c.name, last.ID, last.Status, ran, want, got.Text, got.Finish))
		}
		if result := o.model.results(c.name)[call.id]; strings.Contains(result, "ran transfer") != (want != "") || result == "" {
			bad = append(bad, fmt.Sprintf("%s: request %s is %s and the model was sent the result %q", c.name, last.ID, last.Status, result))
		}
	})
	return bad
}

// recorded returns the requests about a call, without those that could not be recorded: their
// answer was refused before reviewers were notified.
func (o *outcome) recorded(c *call) []approvals.Request {
	return slices.DeleteFunc(slices.Clone(o.requests[c.id]), func(r approvals.Request) bool {
		return r.Details.CancelReason == approvals.CancelNotRecorded
	})
}

// askedTwice returns the calls with more than one request.
func (o *outcome) askedTwice() (bad []string) {
	o.eachAsked(func(c *conversation, call *call) {
		if all := o.recorded(call); len(all) > 1 {
			var text []string
			for _, r := range all {
				text = append(text, fmt.Sprintf("%s (%s %s, created %s)", r.ID, r.Status, r.Details.CancelReason, clock(r.CreatedAt)))
			}
			bad = append(bad, fmt.Sprintf("%s, %s, %s: call %s has the requests %s", c.name, c.sdk, c.mode, call.id, strings.Join(text, ", ")))
		}
	})
	return bad
}

// repeatedUpstream returns the conversations whose answer with calls was asked for after
// heldcall had recorded a request about it.
func (o *outcome) repeatedUpstream() (bad []string) {
	for _, c := range o.plan.conversations {
		var recorded time.Time
		for _, call := range c.calls {
			for _, r := range o.recorded(call) {
				if recorded.IsZero() || r.CreatedAt.Before(recorded) {
					recorded = r.CreatedAt
				}
			}
		}
		for _, at := range o.model.asked(c.name) {
			if !recorded.IsZero() && at.After(recorded) {
				bad = append(bad, fmt.Sprintf("%s, %s, %s: the upstream was asked at %s, heldcall had its answer at %s", c.name, c.sdk, c.mode, clock(at), clock(recorded)))
			}
		}
	}
	return bad
}

// endless returns the requests that are pending without a deadline or after it.
func (o *outcome) endless() (bad []string) {
	o.eachAsked(func(c *conversation, call *call) {
		for _, r := range o.requests[call.id] {
			if r.Status == approvals.StatusPending && !r.ExpiresAt.After(o.ended) {
				bad = append(bad, fmt.Sprintf("%s: request %s is pending and its deadline was %s", c.name, r.ID, clock(r.ExpiresAt)))
			}
		}
	})
	return bad
}

// unanswered returns the conversations whose agent stayed, or came back, and got no answer.
func (o *outcome) unanswered() (bad []string) {
	for _, c := range o.plan.conversations {
		if c.leave > 0 && !c.returns {
			continue
		}
		got, answered := o.reports[c.name]
		if !answered || got.Error != "" {
			bad = append(bad, fmt.Sprintf("%s, %s, %s: %q", c.name, c.sdk, c.mode, got.Error))
		}
	}
	return bad
}

// audit returns the errors of the audit log: a broken chain, requests without an event, calls
// at agents that were not recorded before.
func (o *outcome) audit() (bad []string) {
	if o.chain != nil {
		bad = append(bad, o.chain.Error())
	}
	required, released := map[string]int{}, map[string]time.Time{}
	for _, e := range o.events {
		switch e.Type {
		case approvals.EventApprovalRequired:
			required[e.RequestID]++
		case approvals.EventCallReleased:
			if at, known := released[e.ToolCallID]; !known || e.Time.Before(at) {
				released[e.ToolCallID] = e.Time
			}
		}
	}
	o.eachAsked(func(c *conversation, call *call) {
		for _, r := range o.requests[call.id] {
			if required[r.ID] != 1 && r.Details.CancelReason != approvals.CancelNotRecorded {
				bad = append(bad, fmt.Sprintf("%s: request %s has %d events approval_required", c.name, r.ID, required[r.ID]))
			}
		}
		seen := o.front.firstSeen(strings.TrimPrefix(call.id, "call_"))
		at, known := released[call.id]
		if !seen.IsZero() && (!known || at.After(seen)) {
			bad = append(bad, fmt.Sprintf("%s: call %s was at the agent at %s, its event call_released is of %s", c.name, call.id, clock(seen), clock(at)))
		}
	})
	return bad
}

// recovered returns what did not work again after the faults, and what a provider would refuse.
func (o *outcome) recovered() (bad []string) {
	if o.recovery != nil {
		bad = append(bad, o.recovery.Error())
	}
	return append(bad, o.model.refused()...)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
