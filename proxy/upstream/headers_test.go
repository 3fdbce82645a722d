package upstream

import (
	"bufio"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/valyala/fasthttp"
)

// The upstream's key goes where the provider reads it, and the agent's own does
// not go along.
func TestUpstreamKeyHeader(t *testing.T) {
	tests := []struct{ url, configured, agent, want string }{
		{"https://api.openai.com/v1", "", "Authorization: Bearer agent", "Authorization: Bearer secret"},
		{"https://api.openai.com/v1", "auto", "", "Authorization: Bearer secret"},
		{"https://api.anthropic.com/v1", "auto", "X-Api-Key: agent", "x-api-key: secret"},
		{"https://api.anthropic.com/v1", "auto", "authorization: Bearer agent", "x-api-key: secret"},
		{"https://notanthropic.com/v1", "auto", "authorization: Bearer agent", "Authorization: Bearer secret"},
		{"https://it.openai.azure.com/openai", "auto", "api-key: agent", "api-key: secret"},
		{"https://it.openai.azure.com/openai", "auto", "Authorization: Bearer agent", "api-key: secret"},
		{"https://gateway.example/anthropic/v1", "auto", "x-api-key: agent", "x-api-key: secret"},
		{"https://gateway.example/v1", "x-api-key", "Authorization: Bearer agent", "x-api-key: secret"},
		{"https://api.anthropic.com/v1", "authorization", "x-api-key: agent", "Authorization: Bearer secret"},
	}
	for _, tt := range tests {
		u, err := New(Config{Prefix: "/v1", URL: tt.url, APIKey: "secret", KeyHeader: tt.configured})
		if err != nil {
			t.Fatal(err)
		}
		var h fasthttp.RequestHeader
		h.DisableNormalizing()
		if tt.agent != "" {
			tt.agent += "\r\n"
		}
		if err := h.Read(bufio.NewReader(strings.NewReader("POST /x HTTP/1.1\r\nHost: h\r\n" + tt.agent + "\r\n"))); err != nil {
			t.Fatal(err)
		}
		head := string(u.appendRequestHead(nil, &Request{Header: &h, Envelope: intercept.Envelope{Method: "POST", Path: "/x"}, Gated: true}))
		if !strings.Contains(head, "\r\n"+tt.want+"\r\n") || strings.Contains(head, ": agent") || strings.Contains(head, "Bearer agent") || strings.Count(head, "secret") != 1 {
			t.Errorf("%s, %s, %s: %q", tt.url, tt.configured, tt.agent, head)
		}
	}
}
