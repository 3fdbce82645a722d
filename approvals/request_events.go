package approvals

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Events returns the events of a request up to its current state. They and their
// ids depend on the record only: after a crash any replica can write the same event.
func (r *Request) Events() []Event {
	events := []Event{r.event(EventApprovalRequired, 0, r.CreatedAt)}
	events[0].Before, events[0].Demands = r.Arguments, r.originalDemands()
	if raw := json.RawMessage(r.Details.RawArguments); !r.Details.FreeText && isStrictObject(raw) {
		events[0].Before, events[0].After = raw, r.Arguments // a rule has changed them
	}
	for i, d := range r.Decisions {
		e := r.event(EventApprovalDecision, i, d.DecidedAt)
		e.Action = d.Action
		e.ReviewerID = d.ReviewerID
		e.OnBehalfOf = d.OnBehalfOf
		e.Channel = d.Channel
		e.Passkey = d.Passkey
		e.Note = d.Note
		e.Rule = cmp.Or(d.Rule, e.Rule)
		for _, place := range d.Fills {
			e.Demands = append(e.Demands, r.originalDemands()[place])
		}
		if len(d.ModifiedArgs) > 0 {
			e.Before = r.Arguments
			e.After = d.ModifiedArgs
		}
		events = append(events, e)
	}
	for i, d := range r.EffectiveDemands() {
		e := d.Escalation
		if e == nil || e.EscalatedAt == nil {
			continue
		}
		escalated := r.event(EventApprovalEscalated, i, *e.EscalatedAt)
		escalated.Note = "members of " + strings.Join(e.To, " or ") + " may decide too"
		if len(r.Demands) > 0 {
			escalated.Demands = r.originalDemands()[i : i+1]
		}
		events = append(events, escalated)
	}
	events = append(events, r.resultEvents()...)
	events = append(events, r.notReleasedEvents()...)
	ended := r.ExpiresAt
	if r.Details.EndedAt != nil {
		ended = *r.Details.EndedAt
	}
	switch r.Status {
	case StatusExpired:
		e := r.event(EventApprovalExpired, 0, ended)
		e.Outcome = string(OutcomeExpired)
		events = append(events, e)
	case StatusCancelled:
		e := r.event(EventApprovalCancelled, 0, ended)
		e.Outcome = string(OutcomeCancelled)
		if r.Details.CancelReason == CancelRunAborted {
			e.Outcome = string(OutcomeAborted)
		}
		e.Note = r.Details.CancelReason
		events = append(events, e)
	}
	return events
}

// resultEvents returns the event of the result of an approved call, if it has one.
func (r *Request) resultEvents() []Event {
	result := r.Details.Result
	if result.Received().IsZero() {
		return nil
	}
	e := r.event(EventCallResult, 0, *result.ReceivedAt)
	e.Result = result
	return []Event{e}
}

// EventsUntil returns the events that the change from r to after has added.
func (r *Request) EventsUntil(after *Request) []Event {
	earlier := map[string]bool{}
	for _, e := range r.Events() {
		earlier[e.ID] = true
	}
	return slices.DeleteFunc(after.Events(), func(e Event) bool { return earlier[e.ID] })
}

// isStrictObject reports whether a text is one strict JSON object.
func isStrictObject(text json.RawMessage) bool {
	value := jsontext.Value(text)
	return value.IsValid() && value.Kind() == '{'
}

// event returns the nth event of a type about a request.
func (r *Request) event(typ EventType, nth int, at time.Time) Event {
	e := Event{
		ID:         DerivedID(at, fmt.Sprintf("%s/%s/%d", r.ID, typ, nth)),
		Type:       typ,
		Time:       at.UTC(),
		Tenant:     r.Principal.Tenant,
		Principal:  r.Principal,
		RequestID:  r.ID,
		SessionID:  r.SessionID,
		RunID:      r.RunID,
		TurnID:     r.TurnID,
		Dialect:    r.Dialect,
		Model:      r.Model,
		Subagent:   r.Details.Subagent,
		ToolCallID: r.ToolCallID,
		ToolName:   r.ToolName,
		Rule:       r.Rule,
		RiskLevel:  r.RiskLevel,
		FreeText:   r.Details.FreeText,
		Doubts:     r.Details.Doubts,
		Tainted:    r.Details.Tainted != "",
	}
	if r.Kind == KindResult {
		e.Kind = r.Kind
	}
	return e
}

// RequiredEvent returns the first event of a request, without Seq and the hashes.
func (r *Request) RequiredEvent() Event { return r.Events()[0] }
