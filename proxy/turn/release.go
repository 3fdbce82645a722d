package turn

import (
	"context"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// The calls at the beginning of a streamed answer that policy allows by itself leave as soon as they are complete, each when it
// was counted and recorded. From the first other call on, all wait for the end of the answer and are judged there.

// release lets the next complete calls leave.
func (t *Turn) release() State {
	calls := t.output.answer.Ready()
	if len(calls) == 0 {
		return Reading
	}
	if slices.ContainsFunc(calls, t.exchange.HasKey) {
		return t.output.fail(errHasKey())
	}
	t.enterRun(true)
	allowed := false
	refusal := whileBeating(&t.output, func() *intercept.Error {
		return onOwnStack(func() (refusal *intercept.Error) {
			allowed, refusal = t.review.allow(t.ctx, calls)
			return refusal
		})
	})
	switch {
	case refusal != nil && t.ctx.Err() != nil:
		return t.output.gone()
	case refusal != nil:
		return t.output.fail(refusal)
	case !allowed:
		t.output.answer.Wait()
		return Reading
	}
	out, err := t.output.answer.Release()
	if err != nil {
		return t.output.fail(intercept.NotProcessed(err))
	}
	t.exchange.Kept.Leave(len(calls))
	_ = t.output.keep(-len(out)) // it is less than before
	if !t.output.emit(t.exchange.Upstream.Redact(out)) {
		return t.output.gone()
	}
	return Releasing // more calls may be ready
}

// allow judges calls before the end of the answer, and records that they are released if policy allows all of them as they
// are. Else they are not counted.
func (r *review) allow(ctx context.Context, calls []intercept.Call) (allowed bool, refusal *intercept.Error) {
	if c := r.conversation; r.rules().JudgesResults() || c.Deletes() || c.RunState() != approvals.RunRunning {
		return false, nil // released calls are recorded for their results; people look at the run
	}
	list, refusal := r.judgeEarly(ctx, calls)
	if len(list) < len(calls) || refusal != nil {
		for _, j := range list {
			j.charge.Return()
		}
		return false, refusal
	}
	r.calls = append(r.calls, list...) // the charges are returned if the turn fails
	var events []approvals.Event
	for _, j := range list {
		events = j.appendEvents(events, r.conversation, false)
	}
	if err := r.engine.Gate.Record(ctx, events...); err != nil {
		r.engine.metrics.storeError("record")
		return false, r.conversation.StoreError(err)
	}
	r.leave(list)
	for _, j := range list {
		j.left = true
		j.charge.Keep()
		r.countCall(j)
		r.engine.metrics.verdict(j.verdict.Said())
		r.logShadowed(j)
	}
	return true, nil
}

// judgeEarly judges the calls, up to the first that policy does not allow as it is.
func (r *review) judgeEarly(ctx context.Context, calls []intercept.Call) (list []*judgedCall, refusal *intercept.Error) {
	denials := &r.conversation.Denials
	if refusal := denials.Load(ctx); refusal != nil {
		return nil, refusal
	}
	rules, from := r.rules(), originOf(r.conversation)
	for _, c := range calls {
		if r.questionTool(c) != "" || c.Hosted != "" || len(rules.Secrets(from, c)) > 0 {
			return list, nil
		}
		judged, err := rules.Judge(ctx, from, c, denials.Notes())
		if err != nil {
			return list, errNotCounted(err)
		}
		v := judged.Verdict
		if judged.DeniedBefore || v.Action != policy.Allow || v.Arguments != "" || r.misplaced(c, v) != "" {
			judged.Charge.Return()
			return list, nil
		}
		j := &judgedCall{call: c, verdict: v, policy: judged.Policy, charge: judged.Charge}
		j.rule(intercept.Release, approvals.OutcomeAllowedByRule, "")
		list = append(list, j)
	}
	return list, nil
}

// hasLeft reports whether the agent has got the call before the end of the answer.
func (j *judgedCall) hasLeft() bool { return j.left }

// early are the calls that have left before the end of the answer.
func (r *review) early() (list []*judgedCall) {
	for _, j := range r.calls {
		if j.left {
			list = append(list, j)
		}
	}
	return list
}
