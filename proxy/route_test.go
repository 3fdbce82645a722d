package proxy

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/proxy/upstream"
)

func testRouter(t *testing.T, allowed ...string) *router {
	t.Helper()
	var upstreams []*upstream.Client
	for _, c := range []upstream.Config{
		{Prefix: "/v1", URL: "http://model.example/v1"},
		{Prefix: "/azure", URL: "http://azure.example/openai"},
		{Prefix: "/v1/beta/", URL: "http://beta.example"},
		{Prefix: "/chat", URL: "http://model.example/v1/chat"}, // a part of a gated path is in its URL
	} {
		u, err := upstream.New(c)
		if err != nil {
			t.Fatal(err)
		}
		upstreams = append(upstreams, u)
	}
	return newRouter(upstreams, []intercept.Dialect{chat.Dialect{}, responses.Dialect{}, messages.Dialect{}}, allowed)
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		method, path  string
		allowed       []string
		label         string
		prefix, going string // of the upstream, and the path there
	}{
		{"POST", "/v1/chat/completions", nil, "chat", "/v1", "/chat/completions"},
		{"POST", "/V1/Chat/COMPLETIONS", nil, "chat", "/v1", "/chat/completions"},
		{"POST", "/v1/responses", nil, "responses", "/v1", "/responses"},
		{"POST", "/v1/messages", nil, "messages", "/v1", "/messages"},
		{"POST", "/v1/beta/chat/completions", nil, "chat", "/v1/beta", "/chat/completions"},
		{"POST", "/v1/betas/embeddings", nil, "refused", "/v1", ""},
		{"POST", "/v10/chat/completions", nil, unknownRoute, "", ""},
		{"POST", "/", nil, unknownRoute, "", ""},

		{"GET", "/v1/models", nil, "ungated", "/v1", "/models"},
		{"GET", "/v1/models/org/name", nil, "ungated", "/v1", "/models/org/name"},
		{"POST", "/v1/models/gemini", nil, "refused", "/v1", ""},
		{"GET", "/v1/models/x:generateContent", nil, "refused", "/v1", ""},
		{"POST", "/v1/messages/count_tokens", nil, "messages", "/v1", "/messages/count_tokens"},
		{"POST", "/azure/deployments/d/embeddings", nil, "ungated", "/azure", "/deployments/d/embeddings"},
		{"POST", "/azure/v1/embeddings", nil, "ungated", "/azure", "/v1/embeddings"},
		{"POST", "/azure/deployments/embeddings", nil, "refused", "/azure", ""},
		{"POST", "/v1/completions", nil, "ungated", "/v1", "/completions"},
		{"POST", "/chat/completions", nil, "refused", "/chat", ""}, // is /v1/chat/completions there

		{"POST", "/v1/other", nil, "refused", "/v1", ""},
		{"POST", "/v1/other", []string{"/other"}, "allowed", "/v1", "/other"},
		{"POST", "/v1/other", []string{"/v1/oth*"}, "allowed", "/v1", "/other"},
		{"PATCH", "/v1/other", []string{"/**"}, "allowed", "/v1", "/other"},
		{"POST", "/v1/chat/completions", []string{"/**"}, "chat", "/v1", "/chat/completions"},
		{"PATCH", "/v1/chat/completions", []string{"/**"}, "refused", "/v1", ""}, // gated under another method
		{"POST", "/chat/completions", []string{"/**"}, "refused", "/chat", ""},
		{"POST", "/v1/other", []string{"["}, "refused", "/v1", ""},
	} {
		got, refusal := testRouter(t, tt.allowed...).find(tt.method, tt.path, false)
		prefix := ""
		if got.upstream != nil {
			prefix = got.upstream.Prefix
		}
		if got.label != tt.label || prefix != tt.prefix || got.path != tt.going {
			t.Errorf("%s %s, allowed %v: got %s at %q, %q; want %s at %q, %q", tt.method, tt.path, tt.allowed, got.label, prefix, got.path, tt.label, tt.prefix, tt.going)
		}
		if refused := tt.label == "refused" || tt.label == unknownRoute; refused != (refusal != nil) || (refused && refusal.Code != intercept.CodeRouteNotGated) {
			t.Errorf("%s %s: %v", tt.method, tt.path, refusal)
		}
		if gated := got.dialect != nil; gated != (tt.label == "chat" || tt.label == "responses" || tt.label == "messages") {
			t.Errorf("%s %s: gated %t", tt.method, tt.path, gated)
		}
	}
}

// The error names what base_url may end in.
func TestFindNamesThePrefixes(t *testing.T) {
	_, refusal := testRouter(t).find("POST", "/elsewhere", false)
	if refusal == nil || !strings.Contains(refusal.Reason, "/v1/beta/, /azure/, /chat/, /v1/") {
		t.Errorf("got %v", refusal)
	}
}
