package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// What Chat Completions is beside OpenAI's own route, through the front door.

// refusedOnce calls the tool, and answers with text after a denial, in every API.
func refusedOnce(r *fakemodel.Request) fakemodel.Reply {
	for _, told := range []string{`"role":"tool"`, "function_call_output", "tool_result"} {
		if strings.Contains(string(r.Body), told) {
			return fakemodel.Answer{Text: "Understood.", Fragment: 100}.Reply(r)
		}
	}
	return fakemodel.Answer{Calls: []fakemodel.Call{lsCall}}.Reply(r)
}

const (
	responsesRequest = `{"model":"m","stream":true,"input":"do it","tools":[{"type":"function","name":"bash","parameters":{"type":"object"},"strict":false}]}`
	messagesRequest  = `{"model":"m","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"do it"}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]}`
)

func TestAzurePaths(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, refusedOnce, func(c *app.Config) {
		origin := strings.TrimSuffix(c.Proxy.Upstreams[0].URL, "/v1")
		c.Proxy.Upstreams = []app.Upstream{{Prefix: "/openai", URL: origin + "/openai"}, {Prefix: "/anthropic", URL: origin + "/anthropic"}}
	})
	for _, tt := range []struct{ path, upstream, body string }{
		{"/openai/deployments/GPT-4o/chat/completions?api-version=2024-10-21", "", streamedRequest},
		{"/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "", wholeRequest},
		{"/OpenAI/Deployments/GPT-4o/Chat/Completions?api-version=2024-10-21", "/openai/Deployments/GPT-4o/chat/completions?api-version=2024-10-21", wholeRequest},
		{"/openai/deployments/my.gpt/extensions/chat/completions?api-version=2023-08-01-preview", "", wholeRequest},
		{"/openai/deployments/a%2fb/chat/completions?api-version=1", "/openai/deployments/a/b/chat/completions?api-version=1", wholeRequest},
		{"/openai/v1/chat/completions", "", streamedRequest},
		{"/openai/v1/chat/completions?api-version=preview", "", wholeRequest},
		{"/openai/responses?api-version=2025-04-01-preview", "", responsesRequest},
		{"/openai/v1/responses?api-version=preview", "", responsesRequest},
		{"/anthropic/v1/messages", "", messagesRequest},
	} {
		before := len(w.upstream.Requests())
		got := w.raw(rawPost(tt.path, tt.body, "api-key: mine\r\n"))
		if strings.Contains(got, "sesame") || !strings.Contains(got, "Understood.") {
			t.Errorf("%s: got %s", tt.path, got)
		}
		asked := w.upstream.Requests()[before:]
		if len(asked) != 2 {
			t.Errorf("%s: upstream was asked %d times", tt.path, len(asked))
		}
		want := tt.upstream
		if want == "" {
			want = tt.path
		}
		for _, r := range asked {
			if r.Target != want || r.Get("api-key") != "mine" {
				t.Errorf("%s: upstream was asked for %s with key %q", tt.path, r.Target, r.Get("api-key"))
			}
		}
	}
}

func TestAzureRoutesWithoutCalls(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(200, []byte(`{"data":[]}`)) }, func(c *app.Config) {
		c.Proxy.Upstreams[0] = app.Upstream{Prefix: "/openai", URL: strings.TrimSuffix(c.Proxy.Upstreams[0].URL, "/v1") + "/openai"}
	})
	for path, want := range map[string]string{
		"/openai/deployments/ada/embeddings?api-version=1":              "200",
		"/openai/deployments/whisper/audio/transcriptions":              "200",
		"/openai/deployments/gpt/completions?api-version=1":             "200",
		"/openai/v1/embeddings":                                         "200",
		"/openai/threads/t1/runs?api-version=1":                         "501",
		"/openai/deployments/gpt/assistants?api-version=1":              "501",
		"/openai/v1/realtime?api-version=1":                             "501",
		"/openai/deployments/gpt/chat/completions/x/messages?api=1":     "501",
		"/openai/deployments/gpt/embeddings/chat/completions/x?api=1":   "501",
		"/openai/batches?api-version=1":                                 "501",
		"/openai/deployments/chat/completions/embeddings?api-version=1": "501",
	} {
		if got := w.raw(rawPost(path, `{}`, "")); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%s: %.100s", path, got)
		}
	}
}

func TestUpstreamsByPrefix(t *testing.T) {
	t.Parallel()
	others := make(map[string]*fakemodel.Server)
	w := build(t, denyAll, refusedOnce, func(c *app.Config) {
		c.Proxy.Upstreams[0].APIKey = "key-/v1"
		for _, prefix := range []string{"/v1/other", "/anthropic/v1", "/v10"} {
			s, err := fakemodel.New(refusedOnce)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			others[prefix] = s
			c.Proxy.Upstreams = append(c.Proxy.Upstreams, app.Upstream{Prefix: prefix, URL: s.URL(), APIKey: app.Secret("key-" + prefix)})
		}
	})
	others["/v1"] = w.upstream
	for path, prefix := range map[string]string{
		"/v1/chat/completions": "/v1", "/V1/Other/chat/completions": "/v1/other", "/v1/other/../chat/completions": "/v1",
		"/anthropic/v1/chat/completions": "/anthropic/v1", "/anthropic/../v1/chat/completions": "/v1", "/v10/chat/completions": "/v10", "/v1;x/other/chat/completions": "/v1/other",
	} {
		before := make(map[string]int)
		for p, s := range others {
			before[p] = len(s.Requests())
		}
		if got := w.raw(rawPost(path, wholeRequest, "Authorization: Bearer agent\r\n")); leaks(got) != "" || !strings.Contains(got, "Understood.") {
			t.Errorf("%s: got %s", path, got)
		}
		for p, s := range others {
			asked := s.Requests()[before[p]:]
			if want := map[bool]int{true: 2}[p == prefix]; len(asked) != want {
				t.Errorf("%s: the upstream at %s was asked %d times, want %d", path, p, len(asked), want)
			}
			for _, r := range asked {
				if r.Path != "/v1/chat/completions" || r.Get("Authorization") != "Bearer key-"+p {
					t.Errorf("%s: asked for %s with %s", path, r.Path, r.Get("Authorization"))
				}
			}
		}
	}
	if got := w.raw(rawPost("/v11/chat/completions", wholeRequest, "")); !strings.HasPrefix(got, "HTTP/1.1 501") || !strings.Contains(got, "/anthropic/v1/") {
		t.Errorf("an unknown prefix: %s", got)
	}
}

// TestEveryChoiceIsJudged: the denied choice ends with a text, and the model reads the denial in the agent's next request.
func TestEveryChoiceIsJudged(t *testing.T) {
	t.Parallel()
	other := fakemodel.Call{ID: "call_two", Name: "two", Arguments: `{"n":2}`}
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood.", Fragment: 100}.Reply(r)
		}
		var s fakemodel.Stream
		for i, c := range []fakemodel.Call{lsCall, other} {
			s.Choice(i).RoleAndCall(0, c.ID, c.Name).Arguments(0, c.Arguments)
		}
		s.Choice(0).Finish("tool_calls").Choice(1).Finish("tool_calls").Done()
		return fakemodel.Events(s.Writes()...)
	})
	request := strings.Replace(streamedRequest, `"stream":true`, `"stream":true,"n":2`, 1)
	answer := make(chan string, 1)
	go func() { answer <- w.post("/v1/chat/completions", request).rest() }()
	for _, r := range w.pending(2) {
		d := approvals.Decision{Action: approvals.ActionApprove}
		if r.ToolName == "bash" {
			d = approvals.Decision{Action: approvals.ActionDeny}
		}
		w.decide(r.ID, d)
	}
	got := <-answer
	if asked := len(w.upstream.Requests()); asked != 1 || leaks(strings.ReplaceAll(got, "tool_calls", "")) != "" || !strings.Contains(got, "call_two") || !strings.Contains(got, notice.CallsDenied()) {
		t.Errorf("upstream was asked %d times, got %s", asked, got)
	}
	const user = `{"role":"user","content":"do it"}`
	w.post("/v1/chat/completions", strings.Replace(request, user, user+`,{"role":"assistant","content":"`+notice.CallsDenied()+`"},`+user, 1)).rest()
	asked := w.upstream.Requests()
	told := gjson.GetBytes(asked[len(asked)-1].Body, `messages.#(role=="tool")`)
	if told.Get("tool_call_id").Str != lsCall.ID || !strings.Contains(told.Get("content").Str, "refused") {
		t.Errorf("the model reads %s", asked[len(asked)-1].Body)
	}
}

// The signature is on the first call of a group, which is denied; the model gets it back
// in its place.
func TestSignatureOfADeniedCallComesBack(t *testing.T) {
	t.Parallel()
	const signed = `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[` +
		`{"index":0,"id":"call_sesame","type":"function","function":{"name":"bash","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}},` +
		`{"index":1,"id":"call_two","type":"function","function":{"name":"two","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	w := build(t, "default: allow\nrules:\n- deny: [bash]\n", func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Events(fakemodel.Write{Bytes: []byte(signed)})
	})
	request := strings.Replace(streamedRequest, `"tools":[`, `"tools":[{"type":"function","function":{"name":"two"}},`, 1)
	got := w.post("/v1/chat/completions", request).rest()
	if strings.Contains(got, "call_sesame") || !strings.Contains(got, "call_two") {
		t.Fatalf("got %s", got)
	}
	followUp := strings.Replace(request, `{"role":"user","content":"do it"}`, `{"role":"user","content":"do it"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_two","type":"function","function":{"name":"two","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_two","content":"done"}`, 1)
	w.post("/v1/chat/completions", followUp).rest()
	asked := w.upstream.Requests()
	calls := gjson.GetBytes(asked[len(asked)-1].Body, `messages.#(role=="assistant").tool_calls`)
	if calls.Get("0.id").Str != "call_sesame" || calls.Get("0.extra_content.google.thought_signature").Str != "c2ln" || calls.Get("1.id").Str != "call_two" {
		t.Errorf("the model reads %s", asked[len(asked)-1].Body)
	}
}

func TestSoundPassesWhileACallIsHeld(t *testing.T) {
	t.Parallel()
	const chunk = `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":null}]}` + "\n\n"
	event := func(delta string) fakemodel.Write {
		return fakemodel.Write{Bytes: []byte(strings.Replace(chunk, "%s", delta, 1))}
	}
	w := build(t, askAll, func(*fakemodel.Request) fakemodel.Reply {
		return fakemodel.Events(event(`{"role":"assistant","audio":{"id":"audio_1","transcript":"Let me "}}`),
			event(`{"tool_calls":[{"index":0,"id":"call_sesame","type":"function","function":{"name":"bash","arguments":"{}"}}]}`),
			event(`{"audio":{"transcript":"look."}}`), event(`{"audio":{"data":"UklGRg==","expires_at":1763712000}}`),
			fakemodel.Write{Bytes: []byte(strings.Replace(strings.Replace(chunk, "%s", "{}", 1), "null", `"tool_calls"`, 1) + "data: [DONE]\n\n")})
	})
	c := w.post("/v1/chat/completions", streamedRequest)
	if got := c.until("UklGRg=="); leaks(got) != "" || !strings.Contains(got, "look.") {
		t.Errorf("before the decision: %s", got)
	}
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := c.rest(); !strings.Contains(got, "call_sesame") {
		t.Errorf("after it: %s", got)
	}
}
