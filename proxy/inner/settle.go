package inner

import (
	"cmp"
	"context"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// decision is that on the request, if there is one.
func (a *asking) decision() approvals.Decision {
	if a.request == nil {
		return approvals.Decision{}
	}
	d, _ := a.request.FinalDecision()
	return d
}

// decided makes the answer of the final state of the request.
func (a *asking) decided(ctx context.Context) (Answer, error) {
	d, name := a.decision(), a.call.Call.Name
	switch a.request.Status {
	case approvals.StatusApproved:
		return a.approved(ctx, d)
	case approvals.StatusDenied:
		switch {
		case d.ReviewerID == approvals.ReviewerPolicy:
			return a.settle(ctx, a.deniedByRule(d.Note))
		case d.Action == approvals.ActionAbortRun:
			return a.settle(ctx, Answer{Outcome: approvals.OutcomeAborted, Reason: notice.RunAborted(d.Note)})
		}
		return a.settle(ctx, a.denied(approvals.OutcomeDeniedByPerson, d.Note, notice.DeniedByPerson(name, d.Note)))
	case approvals.StatusExpired:
		return a.settle(ctx, a.denied(approvals.OutcomeExpired, "", notice.NobodyAnswered(name)))
	case approvals.StatusCancelled:
		if a.request.Details.CancelReason == approvals.CancelRunAborted {
			return a.settle(ctx, Answer{Outcome: approvals.OutcomeAborted, Reason: notice.RunAborted(d.Note)})
		}
		return a.settle(ctx, Answer{Outcome: approvals.OutcomeCancelled, Reason: notice.CancelledLater(name)})
	}
	return Answer{}, fmt.Errorf("request %s ended as %s, which decides no call", a.request.ID, a.request.Status)
}

// approved releases a call that people approved, once, with the arguments that they saw. Rules may be newer than the
// request, so the call is judged again; an edit was judged before the reviewer was answered.
func (a *asking) approved(ctx context.Context, d approvals.Decision) (Answer, error) {
	answer := Answer{Outcome: approvals.OutcomeAllowedByPerson, Arguments: a.shown()}
	switch d.ReviewerID {
	case approvals.ReviewerTimeout:
		answer.Outcome = approvals.OutcomeAllowedByTimeout
	case approvals.ReviewerPolicy:
		answer.Outcome = approvals.OutcomeAllowedByRule
	}
	if d.Action == approvals.ActionModifyArgs {
		answer.Outcome, answer.Arguments = approvals.OutcomeModified, judge.ArgumentsText(d.ModifiedArgs)
	} else {
		c := a.call.Call
		c.Arguments = cmp.Or(answer.Arguments, c.Arguments)
		if reason, denied := a.judgedNow(c); denied {
			return a.notReleased(ctx, a.deniedByRule(reason), approvals.NotReleasedDenied)
		}
	}
	stopped, err := a.awaitRun(ctx)
	switch {
	case err != nil:
		return Answer{}, err
	case stopped != nil && stopped.Outcome == approvals.OutcomeParked:
		return a.park(ctx) // the approval waits for the call that is made again
	case stopped != nil:
		return a.notReleased(ctx, *stopped, approvals.NotReleasedRunStopped)
	}
	if a.attachment != nil {
		if err := a.attachment.Confirm(ctx); err != nil {
			return Answer{}, err
		}
	}
	taken, err := a.Store.TakeTurn(ctx, a.usedKey(a.request.ID), onceID, []byte("{}"))
	if err != nil {
		return Answer{}, err
	}
	if !taken {
		return a.settle(ctx, Answer{Outcome: approvals.OutcomeFailedClosed, Reason: "The approval of this call was used by an equal call. It has not run; call it again to ask for it."})
	}
	settled, err := a.settle(ctx, answer)
	if err != nil {
		a.restore()
	}
	return settled, err
}

// shown returns the arguments that people saw where a rewrite rule has changed them, "" for those of the call. The rules
// may have others now.
func (a *asking) shown() string {
	if judge.SameArguments(a.request.Arguments, a.call.Call) {
		return ""
	}
	return judge.ArgumentsText(a.request.Arguments)
}

// usedKey is the key of the record that the approval of a request was used.
func (a *asking) usedKey(request string) string {
	return conversation.PrincipalKey(a.call.Principal, "used approval of a hook", request)
}

// onceID is the id of the record that an approval was used.
const onceID = "once"

// restore makes an approval usable again, because the agent has not got the call.
func (a *asking) restore() {
	a.report("restore the approval of a hook", func(ctx context.Context) error {
		return a.Store.DropTurn(ctx, a.usedKey(a.request.ID), onceID)
	})
}

// notReleased settles a call that people approved and that does not run.
func (a *asking) notReleased(ctx context.Context, answer Answer, reason string) (Answer, error) {
	settled, err := a.settle(ctx, answer)
	if err == nil && a.Results != nil {
		a.Results.NotReleased(reason, a.request.ID)
	}
	return settled, err
}

// settle records an answer before the agent gets it.
func (a *asking) settle(ctx context.Context, answer Answer) (Answer, error) {
	if err := a.Gate.Record(ctx, a.events(&answer)...); err != nil {
		return Answer{}, err
	}
	if answer.Allowed() {
		a.judged.Charge.Keep()
	}
	byRule := answer.Outcome == approvals.OutcomeAllowedByRule || answer.Outcome == approvals.OutcomeDeniedByRule
	if grants := a.judged.Verdict.Grants; byRule && len(grants) > 0 && a.Used != nil {
		a.Used(grants...)
	}
	if a.request == nil {
		return answer, nil
	}
	answer.Request = a.request.ID
	released := answer.Allowed() && a.request.Status == approvals.StatusApproved
	if released && a.Results != nil {
		a.Results.Released(a.released())
	}
	answer.sent = a.whenSent(released)
	return answer, nil
}

// whenSent returns the work that follows when the agent has got the answer, or its connection has ended before. released reports
// that it has an approved call.
func (a *asking) whenSent(released bool) func(error) {
	attachment := a.attachment
	a.attachment = nil
	return func(err error) {
		if err != nil && released {
			a.restore()
		}
		switch {
		case err != nil:
			a.attachment = attachment
			a.leave()
		case attachment == nil:
		case released:
			a.report("remove a held call", attachment.End)
		default: // an equal call gets the same answer for a moment
			a.report("keep a delivered call", func(ctx context.Context) error { return attachment.Deliver(ctx, heldturns.Delivery{}) })
		}
	}
}

// released is the request about the call that runs.
func (a *asking) released() *approvals.Request {
	q := *a.request
	if q.ToolCallID != a.call.Call.ID { // it was parked, and the call was made again
		q.Details.Result = &approvals.CallResult{ToolCallID: a.call.Call.ID}
	}
	return &q
}

// events are the entries of the audit log about an answer.
func (a *asking) events(answer *Answer) []approvals.Event {
	before := judge.ArgumentsValue(a.call.Call)
	if !answer.Allowed() {
		e := a.event(approvals.EventCallDenied, answer.Outcome)
		e.Before, e.Note = before, answer.Reason
		return []approvals.Event{e}
	}
	var events []approvals.Event
	if answer.Outcome == approvals.OutcomeAllowedByRule {
		e := a.event(approvals.EventCallAllowed, answer.Outcome)
		e.Before = before
		events = append(events, e)
	}
	if answer.Arguments != "" {
		after := a.call.Call
		after.Arguments = answer.Arguments
		e := a.event(approvals.EventCallModified, answer.Outcome)
		e.Before, e.After = before, judge.ArgumentsValue(after)
		events = append(events, e)
	}
	return append(events, a.event(approvals.EventCallReleased, answer.Outcome))
}

// event is an entry about the call.
func (a *asking) event(t approvals.EventType, outcome approvals.Outcome) approvals.Event {
	who := &a.from
	e := approvals.Event{
		Type: t, Tenant: who.Principal.Tenant, Principal: who.Principal, SessionID: who.Session, RunID: who.Run, TurnID: who.Turn, Dialect: who.Dialect,
		Model: who.Model, Tainted: who.Tainted, ToolCallID: a.call.Call.ID, ToolName: a.call.Call.Name, Rule: a.judged.Verdict.Rule, Outcome: string(outcome),
		FreeText: a.call.Call.FreeText, Doubts: a.judged.Doubts(a.call.Call),
	}
	if a.request != nil {
		d := a.decision()
		e.RequestID, e.RiskLevel, e.ReviewerID, e.Channel, e.Action = a.request.ID, a.request.RiskLevel, d.ReviewerID, d.Channel, d.Action
	}
	return e
}
