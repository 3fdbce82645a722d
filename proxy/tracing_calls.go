package proxy

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// leftPending is the outcome of a hold whose requests stay with the reviewers when
// heldcall stops.
const leftPending = "left_pending"

// heldSpan is the span of one request to people, from the question to its end.
type heldSpan struct {
	ctx  context.Context
	span trace.Span
}

// call describes a call. Its arguments are told only where they were asked for.
func (s *spans) call(c intercept.Call, more ...attribute.KeyValue) []attribute.KeyValue {
	attributes := append(more, s.short(semconv.GenAIToolNameKey, c.Name))
	if c.ID != "" {
		attributes = append(attributes, s.short(semconv.GenAIToolCallIDKey, c.ID))
	}
	if s.tracing.Arguments {
		attributes = append(attributes, s.text(semconv.GenAIToolCallArgumentsKey, c.Arguments))
	}
	return attributes
}

// name is that of a span about a call.
func (s *spans) name(what string, c intercept.Call) string {
	if c.Name == "" {
		return what
	}
	return what + " " + s.short("", c.Name).Value.AsString()
}

// asked begins a hold for each request to people.
func (s *spans) asked(d *docket) {
	if s == nil {
		return
	}
	requests := d.hold.Requests()
	s.holds = make([]heldSpan, len(d.asked))
	for i, h := range d.asked {
		r := requests[i]
		s.holds[i].ctx, s.holds[i].span = s.tracing.Tracer.Start(s.ctx, s.name("hold", h.call),
			trace.WithTimestamp(r.CreatedAt), trace.WithAttributes(s.call(h.call,
				attrRequest.String(r.ID), attrRule.String(r.Rule), attrRisk.String(string(r.RiskLevel)))...))
	}
}

// answered ends the holds as their requests have ended.
func (s *spans) answered(requests []approvals.Request) {
	if s == nil {
		return
	}
	for i, h := range s.holds {
		h.span.SetAttributes(attrOutcome.String(string(requests[i].Status)))
		h.span.End()
	}
}

// abandoned ends the holds that nobody waits for any more: cancelled for a reason, or
// left to the reviewers.
func (s *spans) abandoned(outcome, reason string) {
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

// decided tells how each call of the turn was decided, and when that took effect:
// from the answer of people, or the turn's ruling, until now, when it is recorded.
func (s *spans) decided(d *docket, ruled time.Time, failed error) {
	if s == nil {
		return
	}
	for _, h := range d.cases {
		ctx, began := s.ctx, ruled
		final, byPeople := h.decision()
		for i, asked := range d.asked {
			if asked == h && i < len(s.holds) {
				ctx = s.holds[i].ctx
			}
		}
		if byPeople && final.DecidedAt.Before(began) { // clocks of replicas differ
			began = final.DecidedAt
		}
		s.decision(ctx, h, began, final, failed)
	}
	s.holds = nil
}

func (s *spans) decision(ctx context.Context, h *hearing, began time.Time, by approvals.Decision, failed error) {
	attributes := []attribute.KeyValue{attrOutcome.String(string(h.outcome)), attrVerdict.String(string(h.verdict.Said())), attrRule.String(h.verdict.Rule)}
	if by.ReviewerID != "" {
		attributes = append(attributes, s.text(attrReviewer, by.ReviewerID), attrChannel.String(by.Channel), attrAction.String(string(by.Action)))
	}
	c := h.call
	if h.ruling.Fate == intercept.Edit {
		c.Arguments = h.ruling.Arguments
	}
	_, span := s.tracing.Tracer.Start(ctx, s.name("decide", c),
		trace.WithTimestamp(began), trace.WithAttributes(s.call(c, attributes...)...))
	if failed != nil {
		span.SetAttributes(semconv.ErrorTypeKey.String(string(intercept.CodeStoreUnavailable)))
		span.SetStatus(codes.Error, "it could not be recorded, so nothing of it has left")
	}
	span.End()
}

// passed tells of a call whose tool is allowed by name, as it begins to pass. Its
// arguments are not known yet.
func (s *spans) passed(h *hearing) {
	if s == nil {
		return
	}
	c := h.call
	_, span := s.tracing.Tracer.Start(s.ctx, s.name("decide", c), trace.WithAttributes(
		s.short(semconv.GenAIToolNameKey, c.Name),
		attrOutcome.String(string(h.outcome)), attrVerdict.String(string(h.verdict.Said())), attrRule.String(h.verdict.Rule)))
	span.End()
}
