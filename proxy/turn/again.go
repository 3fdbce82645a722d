package turn

import (
	"context"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// A delivered turn is kept for a short time: a client that did not get the answer although it was
// sent declares a repetition and gets it again. See [heldturns.Delivered].

// releasesAgain reports whether the calls that the agent has got may be released now too. Rules,
// grants and the run may have changed.
func (r *review) releasesAgain() bool {
	return r.conversation.RunState() != approvals.RunAborted && !slices.ContainsFunc(r.calls, r.refusesAgain)
}

func (r *review) refusesAgain(j *judgedCall) bool {
	rules, from := r.rules(), originOf(r.conversation)
	switch {
	case j.question:
		return false
	case j.outcome == approvals.OutcomeAllowedByRule:
		v := rules.Verdict(from, j.call)
		return v.Action != policy.Allow || v.Arguments != j.verdict.Arguments
	case slices.Contains(r.asked, j), j.released():
		return rules.Verdict(from, j.shown()).Action == policy.Deny
	}
	return false // it was denied
}

// recordAgain records that the agent gets calls again. Passed are those that were allowed by name.
func (r *review) recordAgain(ctx context.Context, passed []intercept.Call) error {
	var events []approvals.Event
	now := time.Now().UTC()
	add := func(j *judgedCall) {
		e := j.event(r.conversation, approvals.EventCallReleased)
		e.Again, e.Time = true, now
		events = append(events, e)
	}
	for _, j := range r.calls {
		if j.released() {
			add(j)
		}
	}
	for _, c := range passed {
		add(&judgedCall{call: c, outcome: approvals.OutcomeAllowedByRule})
	}
	if len(events) == 0 {
		return nil
	}
	return r.engine.Gate.Record(ctx, events...)
}
