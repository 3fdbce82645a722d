// Package trace makes the OpenTelemetry spans of the data plane: one for an agent's
// request, and in it one for each upstream request, each hold and each decision.
//
// Read it from trace.go (the span of a request) by calls.go (those about its tool calls)
// and upstream.go (those about upstream requests, and the trace context) to spans.go (how
// they are made).
package trace

import (
	"net/http"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Request is an agent's request that has been routed.
type Request struct {
	Method   string
	Path     string // as the agent sent it
	Route    string // the route's label
	Turn     string // the turn's id
	Began    time.Time
	Parent   Context  // of the agent
	Redactor Redactor // of the upstream's key, nil for none
}

// Begin begins the span of a request. It returns nil if tracing is off.
func Begin(o Options, r Request) *Spans {
	if o.Tracer == nil {
		return nil
	}
	s := &Spans{options: o, redactor: r.Redactor}
	name, method := method(r.Method)
	s.ctx, s.request = o.Tracer.Start(r.Parent.extract(), name+" "+r.Route,
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.Began),
		trace.WithAttributes(method, semconv.URLScheme("http"), s.text(semconv.URLPathKey, r.Path),
			attrRoute.String(r.Route), attrTurn.String(r.Turn)))
	return s
}

// Identified adds the conversation and the principal to the request's span.
func (s *Spans) Identified(session, run string, who approvals.Principal) {
	if s == nil {
		return
	}
	s.request.SetAttributes(
		s.text(semconv.GenAIConversationIDKey, session), s.text(attrRun, run),
		s.text(attrTenant, who.Tenant),
	)
	if who.User != "" {
		s.request.SetAttributes(s.text(attrUser, who.User))
	}
	if who.Agent != "" {
		s.request.SetAttributes(s.text(semconv.GenAIAgentNameKey, who.Agent))
	}
}

// Failed records why the request or its answer was refused. The reason is heldcall's
// own text, without quotations.
func (s *Spans) Failed(e *intercept.Error) {
	if s == nil {
		return
	}
	s.request.SetAttributes(semconv.ErrorTypeKey.String(string(e.Code)))
	if e.Status() >= http.StatusInternalServerError {
		s.request.SetStatus(codes.Error, e.Reason)
	}
}

// End ends the request's span and all that are open in it. Status is that of the answer;
// outcome is "" for a request that was refused.
func (s *Spans) End(status int, outcome string) {
	if s == nil {
		return
	}
	s.UpstreamEnded(outcome)
	s.Abandoned("failed", "")
	s.request.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if outcome != "" {
		s.request.SetAttributes(attrOutcome.String(outcome))
	}
	if outcome == "failed" {
		s.request.SetStatus(codes.Error, "")
	}
	s.request.End()
}
