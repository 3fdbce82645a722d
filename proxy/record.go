package proxy

import (
	"encoding/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// record makes durable what is about to happen: the hidden turns, what was denied,
// then the events of each call.
func (x *exchange) record(settled intercept.Settlement) error {
	if err := x.remembers(settled); err != nil {
		return err
	}
	if err := x.recordDenials(); err != nil {
		return err
	}
	var events []approvals.Event
	for _, h := range x.docket.cases {
		events = append(events, x.events(h, settled.Next != nil)...)
	}
	for _, c := range x.answer.Passed() {
		e := x.event(approvals.EventCallReleased, &hearing{call: c, outcome: approvals.OutcomeAllowedByRule})
		e.Before, e.Note = argumentsValue(c), "passed as it streamed"
		events = append(events, e)
	}
	if len(events) == 0 {
		return nil
	}
	return x.p.options.Gate.Record(x.ctx, events...)
}

// events tells the story of one call to the audit log.
func (x *exchange) events(h *hearing, continued bool) (events []approvals.Event) {
	add := func(t approvals.EventType) *approvals.Event {
		events = append(events, x.event(t, h))
		return &events[len(events)-1]
	}
	switch h.ruling.Fate {
	case intercept.Release, intercept.Edit:
		if h.outcome == approvals.OutcomeAllowedByRule {
			e := add(approvals.EventCallAllowed)
			e.Before, e.Note = argumentsValue(h.call), h.shadowNote()
		}
		if h.ruling.Fate == intercept.Edit {
			e := add(approvals.EventCallModified)
			e.Before, e.After = argumentsValue(h.call), h.edited()
		}
		add(approvals.EventCallReleased)
	default:
		e := add(approvals.EventCallDenied)
		e.Before, e.Note = argumentsValue(h.call), h.ruling.Told
		if continued {
			add(approvals.EventDenialTold)
		}
	}
	return events
}

func (h *hearing) edited() json.RawMessage {
	c := h.call
	c.Arguments = h.ruling.Arguments
	return argumentsValue(c)
}

func (x *exchange) event(t approvals.EventType, h *hearing) approvals.Event {
	who := x.identity()
	e := approvals.Event{
		Type: t, Tenant: who.principal.Tenant, Principal: who.principal,
		SessionID: who.session, RunID: who.run, TurnID: x.turn, Dialect: x.route.Dialect.Name(), Model: who.model,
		ToolCallID: h.call.ID, ToolName: h.call.Name, Rule: h.verdict.Rule, Outcome: string(h.outcome), FreeText: h.call.FreeText, Doubts: h.call.Ambiguous,
	}
	if h.request != nil {
		e.RequestID = h.request.ID
	}
	if d, ok := h.decision(); ok {
		e.ReviewerID, e.Channel, e.Action = d.ReviewerID, d.Channel, d.Action
	}
	return e
}
