package app

import (
	"context"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/internal/telemetry"
	"golang.org/x/net/http/httpguts"
)

func (a *App) startTracing(ctx context.Context, running *lifecycle) error {
	c, spans := a.config.Tracing, telemetry.NewSpanCounter(a.registry)
	if !c.Enabled {
		return nil
	}
	headers := make(map[string]string, len(c.Headers))
	for _, h := range c.Headers {
		headers[http.CanonicalHeaderKey(h.Name)] = string(h.Value)
	}
	tracing, err := telemetry.StartTracing(ctx, telemetry.TracingOptions{
		Endpoint: c.Endpoint, Headers: headers, Version: a.version, Log: a.log.With("component", "tracing"), Spans: spans,
	})
	if err != nil {
		return err
	}
	endpoint := "that of the environment"
	if c.Endpoint != "" {
		endpoint = redactURL(c.Endpoint)
	}
	a.log.Info("tracing", "endpoint", endpoint, "arguments", c.Arguments)
	a.tracer = tracing.Tracer()
	running.started("tracing", tracing.Stop)
	return nil
}

// validateTracing checks where spans are to go, whether they go there now or not.
func (r *configValidator) validateTracing(c *TracingConfig) {
	if c.Endpoint != "" {
		if u := r.validateURL("tracing.endpoint", c.Endpoint, "http", "https"); u != nil && strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/v1/traces") {
			r.problem("tracing.endpoint", "ends in /v1/traces, which heldcall adds itself; write what stands before it")
		}
	}
	for i, h := range c.Headers {
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(string(h.Value)) {
			r.problem(index("tracing.headers", i), "is not a header; write {name: authorization, value: ${TOKEN}}")
		}
	}
}
