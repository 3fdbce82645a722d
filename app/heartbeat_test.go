package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestHeartbeatSuitsTheClient checks the form of heartbeats by client and configuration.
func TestHeartbeatSuitsTheClient(t *testing.T) {
	t.Parallel()
	const (
		comment   = ": keepalive\n"
		noChoices = `"choices":[]}` + "\n\n"
		delta     = `"choices":[{"index":0,"delta":{},"finish_reason":null}]}` + "\n\n"
		langchain = "AsyncOpenAI/Python 3.52.0"
	)
	for _, c := range []struct{ setting, path, agent, beat string }{
		{"auto", "/v1/chat/completions", "", comment},
		{"auto", "/v1/chat/completions", "OpenAI/Python 3.52.0", comment},
		{"auto", "/v1/chat/completions", "curl/8 AsyncOpenAI/Python", comment},
		{"auto", "/v1/chat/completions", langchain, delta},
		{"comment", "/v1/chat/completions", langchain, comment},
		{"event", "/v1/chat/completions", langchain, noChoices},
		{"auto", "/v1/responses", langchain, "event: keepalive\n"},
		{"auto", "/v1/responses", "OpenAI/JS 6.49.0", "event: keepalive\n"},
		{"auto", "/v1/responses", "OpenAI/JS 6.45.0", comment},
		{"comment", "/v1/responses", "", comment},
		{"auto", "/v1/messages", langchain, "event: ping\n"},
		{"comment", "/v1/messages", "", comment},
	} {
		t.Run(c.setting+c.path+" "+c.agent, func(t *testing.T) {
			model := fakemodel.Model{Otherwise: fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame", Name: "bash", Arguments: "{}"}}}}
			w := build(t, "default: ask\n", model.Reply, func(config *app.Config) { config.Proxy.Heartbeat = c.setting })
			body := `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"go"}],"input":"go",` +
				`"tools":[{"type":"function","name":"bash","function":{"name":"bash"},"input_schema":{}}]}`
			held := w.post(c.path, body, "User-Agent", c.agent, "Anthropic-Version", "2023-06-01")
			if got := held.until(c.beat); strings.Contains(got, "call_sesame") {
				t.Errorf("before the decision went out %s", got)
			}
		})
	}
}
