package trace

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// LeftPending is the outcome of a hold whose requests stay with the reviewers when
// heldcall stops.
const LeftPending = "left_pending"

// Decision is how one call was decided.
type Decision struct {
	Call    intercept.Call // with the arguments that it was released with
	Held    int            // index of its request in the hold, -1 for none
	Outcome approvals.Outcome
	Verdict policy.Action
	Rule    string
	By      approvals.Decision // of people; the zero value if none of them decided
}

// call describes a call. Its arguments are included only if the options ask for them.
func (s *Spans) call(c intercept.Call, more ...attribute.KeyValue) []attribute.KeyValue {
	attributes := append(more, s.short(semconv.GenAIToolNameKey, c.Name))
	if c.ID != "" {
		attributes = append(attributes, s.short(semconv.GenAIToolCallIDKey, c.ID))
	}
	if s.options.Arguments {
		attributes = append(attributes, s.text(semconv.GenAIToolCallArgumentsKey, c.Arguments))
	}
	return attributes
}

// name is the name of a span about a call.
func (s *Spans) name(what string, c intercept.Call) string {
	if c.Name == "" {
		return what
	}
	return what + " " + s.short("", c.Name).Value.AsString()
}

// Asked begins a hold for each request to people; calls has the call of each.
func (s *Spans) Asked(requests []approvals.Request, calls []intercept.Call) {
	if s == nil {
		return
	}
	s.holds = make([]heldSpan, len(requests))
	for i := range requests {
		r := &requests[i]
		s.holds[i].ctx, s.holds[i].span = s.options.Tracer.Start(s.ctx, s.name("hold", calls[i]),
			trace.WithTimestamp(r.CreatedAt), trace.WithAttributes(s.call(calls[i],
				attrRequest.String(r.ID), attrRule.String(r.Rule), attrRisk.String(string(r.RiskLevel)))...))
	}
}

// Answered ends the holds with the final status of their requests.
func (s *Spans) Answered(requests []approvals.Request) {
	if s == nil {
		return
	}
	for i, h := range s.holds {
		h.span.SetAttributes(attrOutcome.String(string(requests[i].Status)))
		h.span.End()
	}
}

// Abandoned ends the holds without an agent: they are cancelled for a reason, or left to
// the reviewers.
func (s *Spans) Abandoned(outcome, reason string) {
	if s == nil {
		return
	}
	for _, h := range s.holds {
		h.span.SetAttributes(attrOutcome.String(outcome))
		if reason != "" {
			h.span.SetAttributes(attrCancelled.String(reason))
		}
		h.span.End()
	}
	s.holds = nil
}

// Decided makes a span for each decided call: from the answer of people, or from began
// if rules decided, until now. A decision that could not be recorded has failed.
func (s *Spans) Decided(decisions []Decision, began time.Time, failed error) {
	if s == nil {
		return
	}
	for _, d := range decisions {
		ctx, from := s.ctx, began
		if d.Held >= 0 && d.Held < len(s.holds) {
			ctx = s.holds[d.Held].ctx
		}
		if at := d.By.DecidedAt; !at.IsZero() && at.Before(from) { // clocks of replicas differ
			from = at
		}
		s.decision(ctx, d, from, failed)
	}
	s.holds = nil
}

func (s *Spans) decision(ctx context.Context, d Decision, began time.Time, failed error) {
	attributes := d.attributes()
	if d.By.ReviewerID != "" {
		attributes = append(attributes, s.text(attrReviewer, d.By.ReviewerID), attrChannel.String(d.By.Channel), attrAction.String(string(d.By.Action)))
	}
	_, span := s.options.Tracer.Start(ctx, s.name("decide", d.Call),
		trace.WithTimestamp(began), trace.WithAttributes(s.call(d.Call, attributes...)...))
	if failed != nil {
		span.SetAttributes(semconv.ErrorTypeKey.String(string(intercept.CodeStoreUnavailable)))
		span.SetStatus(codes.Error, "it could not be recorded, so nothing of it has left")
	}
	span.End()
}

func (d *Decision) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{attrOutcome.String(string(d.Outcome)), attrVerdict.String(string(d.Verdict)), attrRule.String(d.Rule)}
}
