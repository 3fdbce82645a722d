package turn

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// record makes durable, before anything leaves, the hidden turns, the denials, then the
// events of each call. Passed are the calls that were allowed by name; suffix makes the
// ids of this answer's records.
func (r *review) record(ctx context.Context, hidden *hiddenTurns, settled intercept.Resolution, passed []intercept.Call, suffix string) error {
	called := len(r.calls) > 0 || len(passed) > 0
	if err := hidden.remember(ctx, settled, called, r.denials.any); err != nil {
		return err
	}
	if err := r.denials.record(ctx, suffix); err != nil {
		return err
	}
	var events []approvals.Event
	for _, j := range r.calls {
		events = append(events, r.conversation.events(j, settled.Next != nil)...)
	}
	for _, c := range passed {
		e := r.conversation.event(approvals.EventCallReleased, &judgedCall{call: c, outcome: approvals.OutcomeAllowedByRule})
		e.Before, e.Note = argumentsValue(c), "passed as it streamed"
		events = append(events, e)
	}
	if len(events) == 0 {
		return nil
	}
	return r.engine.Gate.Record(ctx, events...)
}

// events are the entries of one call in the audit log. continued reports that the model
// gets another request after this answer.
func (c *conversation) events(j *judgedCall, continued bool) (events []approvals.Event) {
	add := func(t approvals.EventType) *approvals.Event {
		events = append(events, c.event(t, j))
		return &events[len(events)-1]
	}
	if !j.released() {
		e := add(approvals.EventCallDenied)
		e.Before, e.Note = argumentsValue(j.call), j.ruling.ModelMessage
		if continued {
			add(approvals.EventDenialTold)
		}
		return events
	}
	if j.outcome == approvals.OutcomeAllowedByRule {
		e := add(approvals.EventCallAllowed)
		e.Before, e.Note = argumentsValue(j.call), j.shadowNote()
	}
	if j.ruling.Action == intercept.Edit {
		e := add(approvals.EventCallModified)
		e.Before, e.After = argumentsValue(j.call), j.edited()
	}
	add(approvals.EventCallReleased)
	return events
}

// event is an entry about a call.
func (c *conversation) event(t approvals.EventType, j *judgedCall) approvals.Event {
	who := c.identity()
	e := approvals.Event{
		Type: t, Tenant: who.Principal.Tenant, Principal: who.Principal,
		SessionID: who.Session, RunID: who.Run, TurnID: c.request.Turn, Dialect: c.request.Dialect.Name(), Model: who.Model,
		ToolCallID: j.call.ID, ToolName: j.call.Name, Rule: j.verdict.Rule, Outcome: string(j.outcome), FreeText: j.call.FreeText, Doubts: j.call.Ambiguous,
	}
	if j.request != nil {
		e.RequestID = j.request.ID
	}
	if d, ok := j.decision(); ok {
		e.ReviewerID, e.Channel, e.Action = d.ReviewerID, d.Channel, d.Action
	}
	return e
}
