package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// Anthropic's Messages API through the front door. The scripted model refuses the
// requests that Anthropic refuses.

const thinkingRequest = `{"model":"m","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024},"stream":%t,"messages":[{"role":"user","content":"do it"}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`

// anthropicHeaders are what Claude Code sends, pair by pair.
var anthropicHeaders = []string{
	"anthropic-version", "2023-06-01", "x-api-key", "sk-ant-agent",
	"anthropic-beta", "claude-code-20250219,mid-conversation-tool-changes-2026-07-01", "anthropic-beta", "interleaved-thinking-2025-05-14",
	"anthropic-dangerous-direct-browser-access", "true", "X-Claude-Code-Session-Id", "s-1", "X-Stainless-Timeout", "600",
}

// thinker is a model that thinks before it calls bash, takes the result and continues.
func thinker() *fakemodel.Model {
	return &fakemodel.Model{Rules: []fakemodel.Rule{
		{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(fakemodel.Answer{Reasoning: "They want a list.", Text: "Let me look.", Calls: []fakemodel.Call{lsCall}, Usage: fakemodel.Usage{Prompt: 50, Completion: 20}})},
		{When: fakemodel.ToolAnswers("bash", ""), Say: fakemodel.Say(fakemodel.Answer{Reasoning: "Not allowed.", Text: "Understood.", Usage: fakemodel.Usage{Prompt: 70, Completion: 30}})},
		{When: fakemodel.UserSays("go on"), Say: fakemodel.Say(fakemodel.Answer{Text: "Going on."})},
	}}
}

// Version and betas, in their number, and the query go upstream as they came: with
// the agent's request, with the continuation, and where nothing is held.
func TestMessagesKeepsHeadersAndQuery(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, thinker().Reply)
	c := w.post("/v1/messages?beta=true", fmt.Sprintf(thinkingRequest, true), anthropicHeaders...)
	if got := c.rest(); leaks(got) != "" || strings.Count(got, "event: message_start") != 1 || !strings.Contains(got, `"input_tokens":120`) || !strings.Contains(got, `"output_tokens":50`) {
		t.Errorf("got %s", got)
	}
	count := `{"model":"m", "messages":[{"role":"user","content":"do it"}]}`
	if c := w.post("/v1/messages/count_tokens?beta=true", count, anthropicHeaders...); c.resp.StatusCode != http.StatusOK || gjson.Get(c.rest(), "input_tokens").Int() == 0 {
		t.Errorf("count_tokens: %d", c.resp.StatusCode)
	}
	asked := w.upstream.Requests()
	if len(asked) != 3 || string(asked[2].Body) != count {
		t.Fatalf("upstream was asked %d times", len(asked))
	}
	for i, r := range asked {
		if want := []string{"/v1/messages?beta=true", "/v1/messages?beta=true", "/v1/messages/count_tokens?beta=true"}[i]; r.Target != want {
			t.Errorf("request %d: asked for %s", i, r.Target)
		}
		for n := 0; n < len(anthropicHeaders); n += 2 {
			if name := anthropicHeaders[n]; !slices.Contains(r.Values(name), anthropicHeaders[n+1]) {
				t.Errorf("request %d: %s is %q", i, name, r.Values(name))
			}
		}
	}
	said := gjson.GetBytes(asked[1].Body, "messages.1.content")
	if kinds := said.Get("#.type").Raw; kinds != `["thinking","text","tool_use"]` || !strings.HasPrefix(said.Get("0.signature").Str, "Eq") {
		t.Errorf("continuation: the model answered %s", said.Raw)
	}
}

// Claude Code sends system messages within the conversation, moves its cache marks, and
// sends content as blocks or as text. Denials stay in the conversation, also after a
// restart.
func TestMessagesOfClaudeCode(t *testing.T) {
	t.Parallel()
	const (
		head   = `{"model":"m","max_tokens":100,"system":[{"type":"text","text":"You are an agent.","cache_control":{"type":"ephemeral"}}],"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s-1\"}"},"tools":[{"name":"bash","input_schema":{"type":"object"}},{"name":"read","input_schema":{"type":"object"}}],"messages":[`
		first  = `{"role":"user","content":[{"type":"text","text":"<system-reminder>Be brief.</system-reminder>"},{"type":"text","text":"do both","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":[{"type":"text","text":"Effort is high.","cache_control":{"type":"ephemeral"}}]}`
		second = `{"role":"user","content":[{"type":"text","text":"<system-reminder>Be brief.</system-reminder>"},{"type":"text","text":"do both"}]},{"role":"system","content":"Effort is high."},` +
			`{"role":"assistant","content":[{"type":"text","text":"Both."},{"type":"tool_use","id":"toolu_read","name":"read","input":{"path":"x"}}]},` +
			`{"role":"user","content":[{"tool_use_id":"toolu_read","type":"tool_result","content":"data","is_error":false,"cache_control":{"type":"ephemeral"}}]}`
	)
	model := &fakemodel.Model{Rules: []fakemodel.Rule{
		{When: fakemodel.All(fakemodel.ToolAnswers("bash", "policy refused"), fakemodel.ToolAnswers("read", "data")), Say: fakemodel.Say(fakemodel.Answer{Text: "I have data, and no list."})},
	}, Otherwise: fakemodel.Answer{Text: "Both.", Calls: []fakemodel.Call{lsCall, {ID: "toolu_read", Name: "read", Arguments: `{"path":"x"}`}}}}
	dir := t.TempDir()
	keep := func(c *app.Config) { embedded(c); c.NATS.Dir = dir }
	const rules = "default: allow\nrules:\n  - deny: [bash]\n"
	w := build(t, rules, model.Reply, keep)
	if got := w.post("/v1/messages?beta=true", head+first+`]}`, anthropicHeaders...).rest(); strings.Contains(got, "sesame") || !strings.Contains(got, "toolu_read") {
		t.Fatalf("got %s", got)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w = build(t, rules, model.Reply, keep)
	c := w.post("/v1/messages?beta=true", head+second+`]}`, anthropicHeaders...)
	if got := c.rest(); c.resp.StatusCode != http.StatusOK || !strings.Contains(got, "I have data, and no list.") {
		t.Fatalf("%d %s\nasked: %s", c.resp.StatusCode, got, w.upstream.Requests()[0].Body)
	}
	asked := string(w.upstream.Requests()[0].Body)
	if !strings.HasPrefix(asked, head) || strings.Count(asked, "sesame") != 3 { // the id in the call and in its result, and the argument
		t.Errorf("asked: %s", asked)
	}
}

// What the provider runs itself cannot be held: policy judges the offer. Beside it
// the agent's own calls are held.
func TestMessagesHostedTools(t *testing.T) {
	t.Parallel()
	const offer = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"do it"}],%s}`
	search, server := `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, `"tools":[{"name":"bash"}],"mcp_servers":[{"type":"url","name":"mail","url":"https://mail.example"}]`
	model := thinker()
	for _, tt := range []struct {
		policy, offer string
		passes        bool
	}{
		{"default: deny\n", search, true},
		{"default: deny\nhosted_tools: deny\n", search, false},
		{"default: deny\nhosted_tools: [\"web_search_*\"]\n", search, true},
		{"default: deny\n", server, false},
		{"default: deny\nhosted_mcp: allow\n", server, true},
	} {
		w := build(t, tt.policy, func(r *fakemodel.Request) fakemodel.Reply {
			if strings.Contains(string(r.Body), "tool_result") {
				return model.Reply(r)
			}
			return fakemodel.Answer{Parts: []fakemodel.Part{
				{Item: `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`},
				{Item: `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Found","url":"https://x.example","encrypted_content":"Eo"}]}`},
				{Call: &lsCall},
			}}.Reply(r)
		})
		c := w.post("/v1/messages", fmt.Sprintf(offer, tt.offer), anthropicHeaders...)
		got := c.rest()
		switch {
		case tt.passes && (!strings.Contains(got, "encrypted_content") || strings.Contains(got, "sesame")):
			t.Errorf("%s %s: %s", tt.policy, tt.offer, got)
		case !tt.passes && (c.resp.StatusCode != http.StatusForbidden || gjson.Get(got, "error.type").Str != "permission_error" || gjson.Get(got, "error.code").Str != "hosted_tool_refused" || len(w.upstream.Requests()) > 0):
			t.Errorf("%s %s: %d %s", tt.policy, tt.offer, c.resp.StatusCode, got)
		}
	}
}

// While a call is held nothing but pings goes out; a fault then is an event of the
// API, and so is the end of a run.
func TestMessagesFaultsInAStream(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		reply := thinker().Reply(r)
		if strings.Contains(string(r.Body), "cut it") {
			reply.Body, reply.End = reply.Body[:len(reply.Body)-2], fakemodel.EndReset
			reply.Body[len(reply.Body)-1].Gate = gate
		}
		return reply
	})
	body := fmt.Sprintf(thinkingRequest, true)
	c := w.post("/v1/messages", strings.Replace(body, `"m"`, `"cut it"`, 1), anthropicHeaders...)
	const ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	before := c.until(ping + ping)
	close(gate)
	after := c.rest()
	if leaks(before+after) != "" || !strings.Contains(after, "event: error\ndata: {\"type\":\"error\"") || !strings.Contains(after, `"upstream_cut"`) {
		t.Errorf("before %s\nafter %s", before, after)
	}
	c = w.post("/v1/messages", body, append([]string{"X-Heldcall-Run", "run-1"}, anthropicHeaders...)...)
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAbortRun, Note: "enough"})
	if got := c.rest(); leaks(got) != "" || !strings.Contains(got, "stopped by a human reviewer") || !strings.Contains(got, `"stop_reason":"end_turn"`) || !strings.HasSuffix(strings.TrimSpace(got), "}") {
		t.Errorf("aborted: %s", got)
	}
	c = w.post("/v1/messages", body, append([]string{"X-Heldcall-Run", "run-1"}, anthropicHeaders...)...)
	if got := c.rest(); c.resp.StatusCode != http.StatusForbidden || gjson.Get(got, "type").Str != "error" || gjson.Get(got, "error.code").Str != "run_aborted" {
		t.Errorf("later: %d %s", c.resp.StatusCode, got)
	}
}

// Input that a tool streams may be cut off: the request has the text, and the model gets
// it in a form that the API accepts.
func TestMessagesInputCutByMaxTokens(t *testing.T) {
	t.Parallel()
	model := thinker()
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), "tool_result") {
			return model.Reply(r)
		}
		call := fakemodel.Call{ID: "call_sesame", Name: "bash", Arguments: `{"command":"rm -rf /opense`}
		return fakemodel.Answer{Calls: []fakemodel.Call{call}, Finish: "length"}.Reply(r)
	}, func(c *app.Config) { c.Proxy.Keepalive = time.Hour })
	answer := make(chan string, 1)
	go func() {
		answer <- w.post("/v1/messages", fmt.Sprintf(thinkingRequest, true), anthropicHeaders...).rest()
	}()
	request := w.pending(1)[0]
	if string(request.Arguments) != `"{\"command\":\"rm -rf /opense"` {
		t.Errorf("asked about %s", request.Arguments)
	}
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
	if got := <-answer; leaks(got) != "" || !strings.Contains(got, "Unde") {
		t.Errorf("got %s\nasked %s", got, last(w.upstream.Requests()).Body)
	}
}
