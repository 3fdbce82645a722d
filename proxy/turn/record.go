package turn

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// record makes durable, before anything leaves, the hidden turns, the denials, then the
// events of each call. n is the number of this answer in the turn. What a turn has recorded that s was made of is not recorded
// again.
func (r *review) record(ctx context.Context, settled intercept.Resolution, n int, s *stored) error {
	if err := r.remember(ctx, settled, n); err != nil {
		return err
	}
	if s.delivered {
		return r.recordAgain(ctx, func(j *judgedCall) bool { return !j.left })
	}
	events := make([]approvals.Event, 0, 2*len(r.calls)) // most calls have two
	for _, j := range r.calls {
		if j.left || (j.outcome == approvals.OutcomeParked && s.attachment != nil) {
			continue // it is recorded, or the keeper records it
		}
		events = j.appendEvents(events, r.conversation, settled.Next != nil)
	}
	if len(events) == 0 {
		return nil
	}
	for i := range events {
		if request := r.conversation.Request; s.attachment != nil { // the same for each connection that gets the answer
			events[i].ID = approvals.DerivedID(request.Began, fmt.Sprintf("%s %d %d %s", request.Turn, n, i, events[i].Type))
		}
		if s.restored {
			events[i].Time = time.Now().UTC()
		}
	}
	return r.engine.Gate.Record(ctx, events...)
}

// remember makes durable what the next requests of the conversation need, and of agents that calls start.
func (r *review) remember(ctx context.Context, settled intercept.Resolution, n int) error {
	called := len(r.calls) > 0
	if r.rules().JudgesResults() {
		for _, j := range r.calls {
			if message := j.starts(); message != "" {
				if refusal := r.conversation.Judged.Starts(ctx, message); refusal != nil {
					return refusal
				}
			}
		}
	}
	if !called || r.rules().JudgesResults() {
		r.conversation.Hidden.Released(r.gotten())
	}
	if settled.Next == nil && r.rules().JudgesResults() {
		if err := r.conversation.Unseen.Released(ctx); err != nil {
			return err
		}
	}
	if err := r.conversation.Hidden.Remember(ctx, settled, called); err != nil {
		return err
	}
	return r.conversation.Denials.Record(ctx, n)
}

// appendEvents appends the entries of one call in the audit log. continued reports that the
// model gets another request after this answer.
func (j *judgedCall) appendEvents(events []approvals.Event, c *conversation.Conversation, continued bool) []approvals.Event {
	add := func(t approvals.EventType) *approvals.Event {
		events = append(events, j.event(c, t))
		return &events[len(events)-1]
	}
	if j.outcome == approvals.OutcomeParked {
		add(approvals.EventTurnParked)
		return events
	}
	if j.ruling.Action == intercept.Answered {
		e := add(approvals.EventQuestionAnswered)
		e.Before, e.Note = judge.ArgumentsValue(j.call), j.ruling.ModelMessage
		return events
	}
	if !j.released() {
		e := add(approvals.EventCallDenied)
		e.Before, e.Note = judge.ArgumentsValue(j.call), j.ruling.ModelMessage
		if continued {
			add(approvals.EventDenialTold)
		}
		return events
	}
	if j.outcome == approvals.OutcomeAllowedByRule {
		e := add(approvals.EventCallAllowed)
		e.Before, e.Note = judge.ArgumentsValue(j.call), j.shadowNote()
	}
	if j.ruling.Action == intercept.Edit {
		e := add(approvals.EventCallModified)
		e.Before, e.After = judge.ArgumentsValue(j.call), j.edited()
	}
	if len(j.secrets) > 0 {
		add(approvals.EventSecretUsed).Note = strings.Join(j.secrets, ", ")
	}
	add(approvals.EventCallReleased)
	return events
}

// event is an entry about the call.
func (j *judgedCall) event(c *conversation.Conversation, t approvals.EventType) approvals.Event {
	e := c.NewEvent(t)
	e.ToolCallID, e.ToolName, e.Rule, e.Outcome = j.call.ID, j.call.Name, j.verdict.Rule, string(j.outcome)
	e.FreeText, e.Doubts, e.Subagent = j.call.FreeText, j.doubts(), j.call.Subagent
	if j.request != nil {
		e.RequestID, e.RiskLevel = j.request.ID, j.request.RiskLevel
	}
	if d, ok := j.decision(); ok {
		e.ReviewerID, e.Channel, e.Action = d.ReviewerID, d.Channel, d.Action
	}
	return e
}
