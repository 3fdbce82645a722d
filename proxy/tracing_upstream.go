package proxy

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// agentContext is the trace context of an agent's request, for a propagator.
type agentContext struct{ *fasthttp.RequestHeader }

// Get returns the one traceparent: of two, none is believed. Several tracestate
// headers are one list.
func (a agentContext) Get(name string) string {
	var values []string
	for k, v := range a.AllInOrder() {
		if is(k, name) {
			values = append(values, string(v))
		}
	}
	if name == "traceparent" && len(values) > 1 {
		return ""
	}
	return strings.Join(values, ",")
}

// Set and Keys are not used.
func (agentContext) Set(string, string) {}
func (agentContext) Keys() []string     { return nil }

// parentOf holds the span of the agent, if its request names one.
func parentOf(h *fasthttp.RequestHeader) context.Context {
	return propagation.TraceContext{}.Extract(context.Background(), agentContext{h})
}

// asks begins the span of an upstream request and returns what makes upstream a
// child of it.
func (s *spans) asks(x *exchange, e intercept.Envelope) upstream.TraceContext {
	if s == nil {
		return upstream.TraceContext{}
	}
	name, attributes := x.describe(s, e)
	var (
		ctx context.Context
		l   upstream.TraceContext
	)
	s.sent = time.Now()
	ctx, s.upstream = s.tracing.Tracer.Start(s.ctx, name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(s.sent), trace.WithAttributes(attributes...))
	propagation.TraceContext{}.Inject(ctx, &l)
	return l
}

// describe names an upstream request: as one to a model where it is, else as HTTP.
func (x *exchange) describe(s *spans, e intercept.Envelope) (name string, attributes []attribute.KeyValue) {
	u, m := x.route.Upstream, methodOf(e.Method)
	host, port, err := net.SplitHostPort(u.Addr)
	if n, bad := strconv.Atoi(port); err == nil && bad == nil {
		attributes = append(attributes, semconv.ServerAddress(host), semconv.ServerPort(n))
	}
	attributes = append(attributes, m.attribute)
	if x.turns > 1 {
		attributes = append(attributes, attrContinuation.Int(x.turns-1))
	}
	if x.route.Dialect == nil || e.Method != http.MethodPost || strings.HasSuffix(e.Path, "/cancel") {
		return m.name + " " + x.route.Label, attributes
	}
	attributes = append(attributes, semconv.GenAIOperationNameChat, provider(host, x.route.Dialect.Name()))
	info := x.info()
	s.streamed = info.Streamed
	if s.streamed {
		attributes = append(attributes, semconv.GenAIRequestStream(true))
	}
	attributes = append(attributes, s.text(semconv.GenAIConversationIDKey, x.identity().session))
	if info.Model == "" {
		return "chat", attributes
	}
	model := s.short(semconv.GenAIRequestModelKey, info.Model)
	return "chat " + model.Value.AsString(), append(attributes, model)
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

// headCame notes the status of an upstream's answer.
func (s *spans) headCame(status int) {
	if s == nil || s.upstream == nil {
		return
	}
	s.upstream.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if status >= http.StatusBadRequest {
		s.upstream.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
		s.upstream.SetStatus(codes.Error, "")
	}
}

// blockCame notes when a streamed answer began.
func (s *spans) blockCame() {
	if s == nil || s.upstream == nil || !s.streamed {
		return
	}
	s.streamed = false
	s.upstream.SetAttributes(semconv.GenAIResponseTimeToFirstChunk(time.Since(s.sent).Seconds()))
}

// upstreamEnded ends the span of the upstream request that is under way. cut is the
// outcome of an exchange that did not read the answer to its end, else "".
func (s *spans) upstreamEnded(cut string) {
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
