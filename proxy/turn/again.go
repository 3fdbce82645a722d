package turn

import (
	"context"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

// A delivered turn is kept for a short time: a client that did not get the answer although it was
// sent declares a repetition and gets it again. See [heldturns.Delivered].

// releasesAgain reports whether the calls that the agent has got may be released now too. Rules,
// grants and the run may have changed.
func (r *review) releasesAgain(calls []*judgedCall) bool {
	return len(calls) == 0 || (r.conversation.RunState() != approvals.RunAborted && !slices.ContainsFunc(calls, r.refusesAgain))
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

// recordAgain records that the agent gets some of the calls again.
func (r *review) recordAgain(ctx context.Context, some func(*judgedCall) bool) error {
	var events []approvals.Event
	now := time.Now().UTC()
	add := func(j *judgedCall) {
		e := j.event(r.conversation, approvals.EventCallReleased)
		e.Again, e.Time = true, now
		events = append(events, e)
	}
	for _, j := range r.calls {
		if j.released() && some(j) {
			add(j)
		}
	}
	if len(events) == 0 {
		return nil
	}
	return r.engine.Gate.Record(ctx, events...)
}
