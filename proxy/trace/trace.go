// Package trace makes the OpenTelemetry spans of the data plane: one for an agent's
// request, and in it one for each upstream request, each hold and each decision.
//
// Begin with [Begin] and [Spans]; calls.go has the spans about tool calls, upstream.go
// those about upstream requests and the trace context of both connections.
package trace

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Options sets which spans are made. The zero value: none.
type Options struct {
	Tracer    trace.Tracer // nil: off
	Arguments bool         // spans contain the arguments of calls
}

// Attributes of spans that OpenTelemetry has no name for.
const (
	attrTurn         = attribute.Key("heldcall.turn.id")
	attrRun          = attribute.Key("heldcall.run.id")
	attrTenant       = attribute.Key("heldcall.tenant")
	attrUser         = attribute.Key("heldcall.user")
	attrRoute        = attribute.Key("heldcall.route")
	attrOutcome      = attribute.Key("heldcall.outcome")
	attrContinuation = attribute.Key("heldcall.continuation")
	attrRequest      = attribute.Key("heldcall.request.id")
	attrRule         = attribute.Key("heldcall.rule")
	attrVerdict      = attribute.Key("heldcall.verdict")
	attrRisk         = attribute.Key("heldcall.risk")
	attrReviewer     = attribute.Key("heldcall.reviewer")
	attrChannel      = attribute.Key("heldcall.channel")
	attrAction       = attribute.Key("heldcall.action")
	attrCancelled    = attribute.Key("heldcall.cancel_reason")
)

// Redactor removes the upstream's key from a text.
type Redactor interface{ Redact([]byte) []byte }

// Spans are those of one agent request. A nil *Spans stands for tracing that is off:
// every method returns at once and allocates nothing. It is for one goroutine.
type Spans struct {
	options  Options
	ctx      context.Context // contains the request's span
	request  trace.Span
	redactor Redactor // of the upstream's key, nil for none

	upstream trace.Span // nil between two upstream requests
	sent     time.Time
	streamed bool // and the first block of its answer has not arrived

	holds []heldSpan // one for each request to people, in their order
}

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
	m := methodOf(r.Method)
	s.ctx, s.request = o.Tracer.Start(r.Parent.extract(), m.name+" "+r.Route,
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.Began),
		trace.WithAttributes(m.attribute, semconv.URLScheme("http"), s.text(semconv.URLPathKey, r.Path),
			attrRoute.String(r.Route), attrTurn.String(r.Turn)))
	return s
}

// method is how spans name an HTTP method.
type method struct {
	name      string
	attribute attribute.KeyValue
}

// methodOf returns the method of that name; the names of unknown methods are not used,
// so that an agent cannot choose the names of spans.
func methodOf(name string) method {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method{name, semconv.HTTPRequestMethodKey.String(name)}
	}
	return method{"HTTP", semconv.HTTPRequestMethodOther}
}

// text is an attribute with a text of an agent, a model or a person.
func (s *Spans) text(key attribute.Key, text string) attribute.KeyValue {
	return key.String(strings.ToValidUTF8(s.redact(text), "\uFFFD"))
}

// short is a text that is cut where it is long. It is redacted before: part of a key
// would not be recognised.
func (s *Spans) short(key attribute.Key, text string) attribute.KeyValue {
	return key.String(strings.ToValidUTF8(clip(s.redact(text)), "\uFFFD"))
}

func (s *Spans) redact(text string) string {
	if s.redactor == nil {
		return text
	}
	return string(s.redactor.Redact([]byte(text)))
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
// own text; it quotes nobody.
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
