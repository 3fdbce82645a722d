package trace

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.21.0"
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

// Spans are the spans of one agent request. A nil *Spans means that tracing is off: every
// method returns at once and allocates nothing. Spans is for one goroutine.
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

// method is how spans name an HTTP method. The names of unknown methods are not used, so
// that an agent cannot choose the names of spans.
func method(name string) (string, attribute.KeyValue) {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name, semconv.HTTPRequestMethodKey.String(name)
	}
	return "HTTP", semconv.HTTPRequestMethodOther
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

// heldSpan is the span of one request to people, from the question to its end.
type heldSpan struct {
	ctx  context.Context
	span trace.Span
}

// nameLimit bounds what agents and models add to the names of spans.
const nameLimit = 100

// clip cuts a name that is longer.
func clip(name string) string {
	if len(name) <= nameLimit {
		return name
	}
	return name[:nameLimit] + "…"
}
