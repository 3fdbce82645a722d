package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation, as spans carry it.
const scope = "github.com/heldcall/heldcall"

const (
	// attributeLimit bounds a text in a span where the environment names no other
	// limit: much of it is what models and agents wrote.
	attributeLimit = 8 << 10
	// flushFor bounds how long a stop waits for a receiver to take the last spans.
	flushFor = 5 * time.Second
)

// TracingOptions define the receiver of spans. The OTEL_ variables of OpenTelemetry's
// specification define the rest.
type TracingOptions struct {
	Endpoint string            // base URL of an OTLP receiver over HTTP; "": from the environment
	Headers  map[string]string // of each export, beside those of the environment
	Version  string            // of heldcall
	Log      *slog.Logger
	Spans    *prometheus.CounterVec // of [NewSpanCounter]
}

// Tracing sends spans to an OTLP receiver.
type Tracing struct {
	provider *sdktrace.TracerProvider
	log      *slog.Logger
}

// StartTracing makes what sends spans. It does not wait for the receiver: spans that
// it does not take in time are dropped, and nothing else is delayed.
func StartTracing(ctx context.Context, o TracingOptions) (*Tracing, error) {
	var options []otlptracehttp.Option
	if o.Endpoint != "" {
		u, err := url.JoinPath(o.Endpoint, "v1/traces")
		if err != nil {
			return nil, fmt.Errorf("tracing: the endpoint is not a URL: %w", err)
		}
		options = append(options, otlptracehttp.WithEndpointURL(u))
	}
	if len(o.Headers) > 0 {
		options = append(options, otlptracehttp.WithHeaders(o.Headers))
	}
	receiver, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("heldcall"), semconv.ServiceVersion(cmp.Or(o.Version, "unknown"))),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = attributeLimit
	}
	return &Tracing{log: o.Log, provider: sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&reporting{SpanExporter: receiver, log: o.Log, spans: o.Spans}),
		sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits),
	)}, nil
}

// Tracer makes the spans.
func (t *Tracing) Tracer() trace.Tracer {
	return t.provider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
}

// Stop sends the spans that have ended, for a short while. That a receiver does not
// take them is no failure of heldcall's own.
func (t *Tracing) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushFor)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans could not be sent", "error", brief(err))
	}
	return nil
}

// NewSpanCounter makes the metric of the spans that were sent, and of those that
// could not be. It is there without tracing too, so that an alert on it is valid.
func NewSpanCounter(reg prometheus.Registerer) *prometheus.CounterVec {
	spans := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "heldcall_trace_spans_total", Help: "Spans handed to the receiver, by whether it took them.",
	}, []string{"result"})
	for _, result := range []string{"sent", "failed"} {
		spans.WithLabelValues(result)
	}
	return spans
}

// reporting is an exporter that logs and counts its failures. The SDK would report them
// to a global handler.
type reporting struct {
	sdktrace.SpanExporter
	log     *slog.Logger
	spans   *prometheus.CounterVec
	failing atomic.Bool
}

// ExportSpans sends spans. It logs when that begins to fail, and when it works again.
func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil:
		r.spans.WithLabelValues("failed").Add(float64(len(spans)))
		if !r.failing.Swap(true) {
			r.log.Warn("spans cannot be sent, and are dropped until they can", "error", brief(err))
		}
	default:
		r.spans.WithLabelValues("sent").Add(float64(len(spans)))
		if r.failing.Swap(false) {
			r.log.Info("spans are sent again")
		}
	}
	return nil
}

// brief is the beginning of an error that may quote a whole answer of the receiver.
func brief(err error) string {
	const most = 300
	text := err.Error()
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
