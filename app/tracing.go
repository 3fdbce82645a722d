package app

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// validateTracing checks the receiver of spans, also while tracing is off.
func (r *configValidator) validateTracing(c *TracingConfig) {
	if c.Endpoint != "" {
		if u := r.validateURL("tracing.endpoint", c.Endpoint, "http", "https"); u != nil && strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/v1/traces") {
			r.Problem("tracing.endpoint", "ends in /v1/traces, which heldcall adds itself; write the URL without it")
		}
	}
	for i, h := range c.Headers {
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(string(h.Value)) {
			r.Problem(strictyaml.Index("tracing.headers", i), "is not a header; write {name: authorization, value: ${TOKEN}}")
		}
	}
}
