package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
)

// Some clients add /v1 to their Anthropic base URL and some do not; one address
// serves them both.
func TestDefaultUpstreamsServeBothSpellings(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, refusedOnce, func(c *app.Config) {
		scripted := strings.TrimSuffix(c.Proxy.Upstreams[0].URL, "/v1")
		c.Proxy.Upstreams = app.DefaultConfig(func(string) (string, bool) { return "", false }).Proxy.Upstreams
		for i := range c.Proxy.Upstreams {
			u := &c.Proxy.Upstreams[i]
			u.URL = strings.NewReplacer("https://api.openai.com", scripted+"/openai", "https://api.anthropic.com", scripted+"/anthropic").Replace(u.URL)
		}
	})
	for _, tt := range []struct{ path, body, upstream string }{
		{"/v1/chat/completions", streamedRequest, "/openai/v1/chat/completions"},
		{"/v1/responses", responsesRequest, "/openai/v1/responses"},
		{"/anthropic/v1/messages", messagesRequest, "/anthropic/v1/messages"},
		{"/anthropic/messages?beta=true", messagesRequest, "/anthropic/v1/messages?beta=true"},
	} {
		before := len(w.upstream.Requests())
		got := w.raw(rawPost(tt.path, tt.body, ""))
		if strings.Contains(got, "sesame") || !strings.Contains(got, "Understood.") {
			t.Errorf("%s: got %s", tt.path, got)
		}
		for _, r := range w.upstream.Requests()[before:] {
			if r.Target != tt.upstream {
				t.Errorf("%s: upstream was asked for %s, want %s", tt.path, r.Target, tt.upstream)
			}
		}
	}
}
