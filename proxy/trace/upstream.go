package trace

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Context is a W3C trace context: the values of the headers traceparent and tracestate.
// The zero value is none.
type Context struct{ Parent, State string }

const (
	headerParent = "traceparent"
	headerState  = "tracestate"
)

// extract returns a context that contains the span of the agent, if there is one.
func (c Context) extract() context.Context {
	carrier := propagation.MapCarrier{headerParent: c.Parent, headerState: c.State}
	return propagation.TraceContext{}.Extract(context.Background(), carrier)
}

// UpstreamRequest is a request that is about to be sent.
type UpstreamRequest struct {
	intercept.Envelope
	Addr         string // host:port of the upstream
	Route        string // the route's label
	Continuation int    // how often the answer was continued before
	// Dialect is that of the route, "" for a route without calls; then the fields after it
	// are not used.
	Dialect  string
	Model    string
	Session  string
	Streamed bool
}

// asksModel reports whether the request asks a model for an answer.
func (r *UpstreamRequest) asksModel() bool {
	return r.Dialect != "" && r.Method == http.MethodPost && !strings.HasSuffix(r.Path, "/cancel")
}

// UpstreamRequest begins the span of an upstream request and returns the trace context
// that makes upstream's spans its children.
func (s *Spans) UpstreamRequest(r UpstreamRequest) Context {
	if s == nil {
		return Context{}
	}
	name, attributes := s.describe(&r)
	s.streamed = r.Streamed && r.asksModel()
	s.sent = time.Now()
	ctx, span := s.options.Tracer.Start(s.ctx, name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(s.sent), trace.WithAttributes(attributes...))
	s.upstream = span
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return Context{carrier[headerParent], carrier[headerState]}
}

// describe names an upstream request: as one to a model where it is, else as HTTP.
func (s *Spans) describe(r *UpstreamRequest) (name string, attributes []attribute.KeyValue) {
	verb, method := method(r.Method)
	host, port, err := net.SplitHostPort(r.Addr)
	if n, bad := strconv.Atoi(port); err == nil && bad == nil {
		attributes = append(attributes, semconv.ServerAddress(host), semconv.ServerPort(n))
	}
	attributes = append(attributes, method)
	if r.Continuation > 0 {
		attributes = append(attributes, attrContinuation.Int(r.Continuation))
	}
	if !r.asksModel() {
		return verb + " " + r.Route, attributes
	}
	attributes = append(attributes, semconv.GenAIOperationNameChat, provider(host, r.Dialect))
	if r.Streamed {
		attributes = append(attributes, semconv.GenAIRequestStream(true))
	}
	attributes = append(attributes, s.text(semconv.GenAIConversationIDKey, r.Session))
	if r.Model == "" {
		return "chat", attributes
	}
	model := s.short(semconv.GenAIRequestModelKey, r.Model)
	return "chat " + model.Value.AsString(), append(attributes, model)
}

// UpstreamHead records the status of the upstream's answer.
func (s *Spans) UpstreamHead(status int) {
	if s == nil || s.upstream == nil {
		return
	}
	s.upstream.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if status >= http.StatusBadRequest {
		s.upstream.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
		s.upstream.SetStatus(codes.Error, "")
	}
}

// UpstreamBody records when the first block of a streamed answer arrived.
func (s *Spans) UpstreamBody() {
	if s == nil || s.upstream == nil || !s.streamed {
		return
	}
	s.streamed = false
	s.upstream.SetAttributes(semconv.GenAIResponseTimeToFirstChunk(time.Since(s.sent).Seconds()))
}

// UpstreamEnded ends the span of the upstream request, if one is open. cut is the outcome
// of a turn that did not read the answer to its end, else "".
func (s *Spans) UpstreamEnded(cut string) {
	if s == nil || s.upstream == nil {
		return
	}
	if cut == "failed" || cut == "agent_gone" {
		s.upstream.SetAttributes(semconv.ErrorTypeKey.String(cut))
		s.upstream.SetStatus(codes.Error, "")
	}
	s.upstream.End()
	s.upstream = nil
}

// providers are the hosts whose format OpenTelemetry has a name for.
var providers = []struct {
	host string
	name attribute.KeyValue
}{
	{"anthropic.com", semconv.GenAIProviderNameAnthropic},
	{"azure.com", semconv.GenAIProviderNameAzureAIOpenAI},
	{"azure-api.net", semconv.GenAIProviderNameAzureAIOpenAI},
	{"generativelanguage.googleapis.com", semconv.GenAIProviderNameGCPGemini},
	{"aiplatform.googleapis.com", semconv.GenAIProviderNameGCPVertexAI},
	{"amazonaws.com", semconv.GenAIProviderNameAWSBedrock},
	{"mistral.ai", semconv.GenAIProviderNameMistralAI},
	{"groq.com", semconv.GenAIProviderNameGroq},
	{"deepseek.com", semconv.GenAIProviderNameDeepseek},
	{"x.ai", semconv.GenAIProviderNameXAI},
	{"perplexity.ai", semconv.GenAIProviderNamePerplexity},
	{"cohere.com", semconv.GenAIProviderNameCohere},
}

// provider is the one at a host; elsewhere the one whose API it speaks.
func provider(host, dialect string) attribute.KeyValue {
	host = strings.ToLower(host)
	for _, p := range providers {
		if host == p.host || strings.HasSuffix(host, "."+p.host) {
			return p.name
		}
	}
	if dialect == "messages" {
		return semconv.GenAIProviderNameAnthropic
	}
	return semconv.GenAIProviderNameOpenAI
}
