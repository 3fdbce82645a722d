package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// record makes durable, before anything leaves, the hidden turns, the denials, then the
// events of each call. Passed are the calls that were allowed by name; n is the number of
// this answer in the turn. What a turn has recorded that s was made of is not recorded
// again.
func (r *review) record(ctx context.Context, settled intercept.Resolution, passed []intercept.Call, n int, s *stored) error {
	called := len(r.calls) > 0 || len(passed) > 0
	if !called || r.rules().JudgesResults() {
		r.conversation.Hidden.Released(append(r.gotten(), passed...))
	}
	if err := r.conversation.Hidden.Remember(ctx, settled, called); err != nil {
		return err
	}
	if err := r.conversation.Denials.Record(ctx, n); err != nil {
		return err
	}
	if s.delivered {
		return r.recordAgain(ctx, passed)
	}
	events := make([]approvals.Event, 0, 2*len(r.calls)+len(passed)) // most calls have two
	for _, j := range r.calls {
		if j.outcome == approvals.OutcomeParked && s.attachment != nil {
			continue // the keeper records it
		}
		events = j.appendEvents(events, r.conversation, settled.Next != nil)
	}
	for _, c := range passed {
		e := (&judgedCall{call: c, outcome: approvals.OutcomeAllowedByRule}).event(r.conversation, approvals.EventCallReleased)
		e.Before, e.Note = json.RawMessage(r.conversation.Redact(string(judge.ArgumentsValue(c)))), "passed as it streamed" // in pieces
		events = append(events, e)
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
	e.FreeText, e.Doubts = j.call.FreeText, j.doubts()
	if j.request != nil {
		e.RequestID = j.request.ID
	}
	if d, ok := j.decision(); ok {
		e.ReviewerID, e.Channel, e.Action = d.ReviewerID, d.Channel, d.Action
	}
	return e
}
