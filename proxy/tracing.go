package proxy

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/upstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Tracing says what spans are made of an exchange. The zero value: none.
type Tracing struct {
	Tracer    trace.Tracer // nil: off
	Arguments bool         // spans hold the arguments of calls
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

// spans are those of one exchange: the request, in it each upstream request, each
// hold and each decision. Nil stands for tracing that is off; then every method
// returns at once and nothing is allocated.
type spans struct {
	tracing  *Tracing
	ctx      context.Context // holds the request's span
	request  trace.Span
	redactor upstream.KeyRedactor // of the upstream's key

	upstream trace.Span // nil between two upstream requests
	sent     time.Time
	streamed bool // and the first block of its answer has not come yet

	holds []heldSpan // one for each hearing of the docket that people are asked about
}

// beginSpans begins the span of a request that has just been routed.
func (p *Proxy) beginSpans(x *exchange) *spans {
	if p.options.Tracing.Tracer == nil {
		return nil
	}
	s := &spans{tracing: &p.options.Tracing}
	if x.route.Upstream != nil {
		s.redactor = x.route.Upstream.Redactor
	}
	method, h := methodOf(string(x.fasthttp.Method())), &x.fasthttp.Request.Header
	s.ctx, s.request = s.tracing.Tracer.Start(parentOf(h), method.name+" "+x.route.Label,
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(x.began),
		trace.WithAttributes(method.attribute, semconv.URLScheme("http"), s.text(semconv.URLPathKey, string(x.fasthttp.URI().PathOriginal())),
			attrRoute.String(x.route.Label), attrTurn.String(x.turn)))
	return s
}

// method is how spans name an HTTP method.
type method struct {
	name      string
	attribute attribute.KeyValue
}

// methodOf bounds what an agent can have spans called.
func methodOf(name string) method {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method{name, semconv.HTTPRequestMethodKey.String(name)}
	}
	return method{"HTTP", semconv.HTTPRequestMethodOther}
}

// text is an attribute of what an agent, a model or a person wrote.
func (s *spans) text(key attribute.Key, text string) attribute.KeyValue {
	return key.String(strings.ToValidUTF8(string(s.redactor.Redact([]byte(text))), "\uFFFD"))
}

// short is text that is cut where it is long. What is to be hidden is hidden before:
// of a part of it nobody would know what it is.
func (s *spans) short(key attribute.Key, text string) attribute.KeyValue {
	return key.String(strings.ToValidUTF8(clip(string(s.redactor.Redact([]byte(text)))), "\uFFFD"))
}

// identified tells the request's span who asks. The exchange knows now.
func (s *spans) identified(x *exchange) {
	if s == nil {
		return
	}
	who := x.identity()
	s.request.SetAttributes(
		s.text(semconv.GenAIConversationIDKey, who.session), s.text(attrRun, who.run),
		s.text(attrTenant, who.principal.Tenant),
	)
	if who.principal.User != "" {
		s.request.SetAttributes(s.text(attrUser, who.principal.User))
	}
	if who.principal.Agent != "" {
		s.request.SetAttributes(s.text(semconv.GenAIAgentNameKey, who.principal.Agent))
	}
}

// failed tells why the request was refused, or its answer. The reason is heldcall's
// own words; it quotes nobody.
func (s *spans) failed(e *intercept.Error) {
	if s == nil {
		return
	}
	s.request.SetAttributes(semconv.ErrorTypeKey.String(string(e.Code)))
	if e.Status() >= http.StatusInternalServerError {
		s.request.SetStatus(codes.Error, e.Reason)
	}
}

// end ends the request's span, and what of it has not ended.
func (s *spans) end(x *exchange) {
	if s == nil {
		return
	}
	s.upstreamEnded(x.outcome)
	s.abandoned("failed", "")
	s.request.SetAttributes(semconv.HTTPResponseStatusCode(x.fasthttp.Response.StatusCode()))
	if x.outcome != "" {
		s.request.SetAttributes(attrOutcome.String(x.outcome))
	}
	if x.outcome == "failed" {
		s.request.SetStatus(codes.Error, "")
	}
	s.request.End()
}
