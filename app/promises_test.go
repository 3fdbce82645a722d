package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/scripted"
	"github.com/tidwall/gjson"
)

// The promises of the design, each through the front door: a scripted upstream,
// the real proxy, the real store, an agent that is a plain HTTP client.

func bodies() map[string]string {
	return map[string]string{"streamed": streamedRequest, "whole": wholeRequest}
}

func TestPromise1_NoLeak(t *testing.T) {
	for name, body := range bodies() {
		t.Run(name+" held then denied", func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, callThenText)
			answer := make(chan string, 1)
			go func() { answer <- w.post("/v1/chat/completions", body).rest() }()
			id := w.pending(1)[0].ID
			time.Sleep(200 * time.Millisecond) // a few heartbeats
			w.decide(id, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
			got := <-answer
			if s := leaks(got); s != "" {
				t.Fatalf("%q reached the agent: %s", s, got)
			}
			if !strings.Contains(got, "Under") {
				t.Fatalf("no continuation: %s", got)
			}
		})
		t.Run(name+" denied by rule", func(t *testing.T) {
			t.Parallel()
			w := build(t, denyAll, callThenText)
			if got := w.post("/v1/chat/completions", body).rest(); leaks(got) != "" {
				t.Fatalf("leak: %s", got)
			}
		})
		t.Run(name+" nobody answers", func(t *testing.T) {
			t.Parallel()
			w := build(t, "rules:\n  - ask: [bash]\n    timeout: 1s\n", callThenText)
			if got := w.post("/v1/chat/completions", body).rest(); leaks(got) != "" {
				t.Fatalf("leak: %s", got)
			}
		})
	}
	t.Run("nothing before the decision", func(t *testing.T) {
		t.Parallel()
		w := build(t, askAll, callThenText)
		c := w.post("/v1/chat/completions", streamedRequest)
		before := c.until(": keepalive\n: keepalive\n")
		if s := leaks(before); s != "" {
			t.Fatalf("%q reached the agent before the decision: %s", s, before)
		}
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		if after := c.rest(); !strings.Contains(after, "call_sesame") {
			t.Fatalf("the approved call did not arrive: %s", after)
		}
	})
}

func TestPromise2_NoDrift(t *testing.T) {
	for name, body := range bodies() {
		for _, policy := range []string{allowAll, askAll} {
			t.Run(name+" "+strings.TrimSpace(policy), func(t *testing.T) {
				t.Parallel()
				w := build(t, policy, callThenText, func(c *app.Config) { c.Proxy.Keepalive = time.Hour })
				answer := make(chan string, 1)
				go func() { answer <- w.post("/v1/chat/completions", body).rest() }()
				if policy == askAll {
					w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
				}
				got := <-answer
				sent := w.upstream.Requests()[0]
				if string(sent.Body) != body {
					t.Errorf("upstream got %s", sent.Body)
				}
				var want []byte
				for _, write := range callThenText(sent).Body {
					want = append(want, write.Bytes...)
				}
				if got != string(want) {
					t.Fatalf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
	t.Run("text is not delayed behind a held call", func(t *testing.T) {
		t.Parallel()
		gate := make(chan struct{})
		w := build(t, askAll, func(r *scripted.Request) scripted.Reply {
			s := (&scripted.Stream{}).Role().Text("first")
			first := s.Writes()
			s = (&scripted.Stream{}).Call(0, "call_sesame", "bash").Arguments(0, `{"command":"ls"}`).Finish("tool_calls").Done()
			rest := s.Writes()
			rest[0].Gate = gate
			return scripted.Events(append(first, rest...)...)
		})
		c := w.post("/v1/chat/completions", streamedRequest)
		c.until("first") // arrives while upstream has not gone on
		close(gate)
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		c.rest()
	})
	t.Run("a splice is the same bytes each time", func(t *testing.T) {
		t.Parallel()
		w := build(t, denyAll, callThenText)
		got := gjson.Parse(w.post("/v1/chat/completions", wholeRequest).rest())
		message := got.Get("choices.0.message.content").Raw
		follow := `{"model":"m","messages":[{"role":"user","content":"do it"},{"role":"assistant","content":` + message + `},{"role":"user","content":"go on"}]}`
		w.post("/v1/chat/completions", follow).rest()
		w.post("/v1/chat/completions", follow).rest()
		requests := w.upstream.Requests()
		continuation, one, two := string(requests[1].Body), string(requests[2].Body), string(requests[3].Body)
		if one != two {
			t.Fatalf("two splices differ:\n%s\n%s", one, two)
		}
		told := gjson.Get(continuation, "messages.2").Raw
		if !strings.Contains(one, told) || told == "" {
			t.Fatalf("the denial is not the same bytes as in the continuation:\n%s\n%s", one, continuation)
		}
	})
}

func TestPromise3_FailClosed(t *testing.T) {
	bad := map[string]scripted.Reply{
		"not JSON":             scripted.Events(scripted.Write{Bytes: []byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"bash\"\n\n")}),
		"duplicate names":      scripted.Events(scripted.Write{Bytes: []byte(`data: {"choices":[],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_sesame","function":{"name":"bash","arguments":"{}"}}]}}]}` + "\n\n")}),
		"unknown call key":     scripted.Events(scripted.Write{Bytes: []byte(`data: {"choices":[{"index":0,"delta":{"bash_call":{"x":"opensesame"}}}]}` + "\n\n")}),
		"whole not JSON":       scripted.Whole(200, []byte(`{"choices":[{"message":{"tool_calls":[{"function":{"name":"bash"`)),
		"HTML":                 {Header: []scripted.Field{{Name: "Content-Type", Value: "text/html"}}, Body: []scripted.Write{{Bytes: []byte("<html>bash</html>")}}},
		"gzip":                 {Header: []scripted.Field{{Name: "Content-Type", Value: "application/json"}, {Name: "Content-Encoding", Value: "gzip"}}, Body: []scripted.Write{{Bytes: []byte("\x1f\x8bbash")}}},
		"JSON labelled stream": {Header: []scripted.Field{{Name: "Content-Type", Value: "text/event-stream"}}, Body: []scripted.Write{{Bytes: []byte(`{"choices":[{"message":{"bash_call":{"x":"opensesame"}}}]}`)}}},
	}
	for name, reply := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, allowAll, func(*scripted.Request) scripted.Reply { return reply })
			c := w.post("/v1/chat/completions", streamedRequest)
			got := c.rest()
			if s := leaks(got); s != "" {
				t.Fatalf("%q reached the agent: %s", s, got)
			}
			if code := errorCode(got); code != string(intercept.CodeAnswerNotUnderstood) {
				t.Fatalf("code %q in %s (status %d)", code, got, c.resp.StatusCode)
			}
		})
	}
	t.Run("a call that cannot be recorded", func(t *testing.T) {
		t.Parallel()
		huge := scripted.Call{ID: "call_sesame", Name: "bash", Arguments: `{"command":"opensesame ` + strings.Repeat("x", 9<<20) + `"}`}
		w := build(t, askAll, func(r *scripted.Request) scripted.Reply {
			return scripted.Answer{Calls: []scripted.Call{huge}}.Reply(r)
		})
		got := w.post("/v1/chat/completions", wholeRequest).rest()
		if leaks(got) != "" || errorCode(got) == "" {
			t.Fatalf("got %.300s", got)
		}
	})
}

func TestPromise4_RecordedFirst(t *testing.T) {
	w := build(t, askAll, callThenText)
	answer := make(chan string, 1)
	go func() { answer <- w.post("/v1/chat/completions", streamedRequest).rest() }()
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	<-answer
	// All is in the log by the time the agent has its bytes.
	var types []approvals.EventType
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for e, err := range w.console.Events(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Type)
		if e.Type == approvals.EventCallReleased {
			break
		}
	}
	want := []approvals.EventType{approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventCallReleased}
	if len(types) != len(want) {
		t.Fatalf("events %v, want %v", types, want)
	}
	for i := range want {
		if types[i] != want[i] {
			t.Fatalf("events %v, want %v", types, want)
		}
	}
}

func TestPromise6_TrueTranscript(t *testing.T) {
	for name, body := range bodies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, denyAll, callThenText)
			w.post("/v1/chat/completions", body).rest()
			requests := w.upstream.Requests()
			if len(requests) != 2 {
				t.Fatalf("%d upstream requests, want 2", len(requests))
			}
			conversation, err := scripted.ParseConversation(requests[1].Body)
			if err != nil {
				t.Fatal(err)
			}
			if err := conversation.Check(); err != nil {
				t.Fatalf("the continuation is no valid conversation: %v\n%s", err, requests[1].Body)
			}
			if !strings.HasPrefix(string(requests[1].Body), body[:strings.Index(body, `}],"tools"`)]) {
				t.Errorf("the continuation does not begin with the agent's bytes: %s", requests[1].Body)
			}
		})
	}
}

func TestPromise7_NothingHangs(t *testing.T) {
	for name, body := range bodies() {
		t.Run(name+" agent leaves while held", func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, callThenText, func(c *app.Config) { c.Proxy.Keepalive = time.Hour })
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.url("/v1/chat/completions"), strings.NewReader(body))
				if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
					defer resp.Body.Close()
					<-ctx.Done()
				}
			}()
			id := w.pending(1)[0].ID
			leave()
			if r := w.status(id, approvals.StatusCancelled); r.Details.CancelReason != "agent_gone" {
				t.Errorf("cancelled because %q", r.Details.CancelReason)
			}
		})
		t.Run(name+" agent half-closes while held", func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, callThenText, func(c *app.Config) { c.Proxy.Keepalive = time.Hour })
			conn := w.dial()
			defer conn.Close()
			conn.send(rawPost("/v1/chat/completions", body, ""))
			id := w.pending(1)[0].ID
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			w.status(id, approvals.StatusCancelled)
		})
	}
	t.Run("agent leaves while streaming", func(t *testing.T) {
		t.Parallel()
		w := build(t, allowAll, func(*scripted.Request) scripted.Reply {
			r := scripted.Events((&scripted.Stream{}).Role().Text("hello").Writes()...)
			r.End = scripted.EndStall
			return r
		})
		c := w.post("/v1/chat/completions", streamedRequest)
		c.until("hello")
		c.cancel()
		select {
		case <-w.upstream.Requests()[0].Gone():
		case <-time.After(soon):
			t.Fatal("upstream was not cancelled")
		}
	})
	t.Run("agent leaves before the head", func(t *testing.T) {
		t.Parallel()
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		w := build(t, allowAll, func(*scripted.Request) scripted.Reply { return scripted.Reply{HeadGate: never} })
		conn := w.dial()
		conn.send(rawPost("/v1/chat/completions", streamedRequest, ""))
		r, err := w.upstream.Await(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		select {
		case <-r.Gone():
		case <-time.After(soon):
			t.Fatal("upstream was not cancelled")
		}
	})
	t.Run("shut down while held", func(t *testing.T) {
		t.Parallel()
		for name, body := range bodies() {
			w := build(t, askAll, callThenText)
			answer := make(chan string, 1)
			go func() {
				if c, err := w.tryPost("/v1/chat/completions", body); err == nil {
					answer <- c.rest()
				}
			}()
			w.pending(1)
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			got := <-answer
			if i := strings.LastIndex(got, "data: {\"error\""); i >= 0 {
				got = got[i:]
			}
			if code := errorCode(got); code != string(intercept.CodeShuttingDown) {
				t.Errorf("%s: code %q in %s", name, code, got)
			}
		}
	})
}

func TestPromise8_SecretsStay(t *testing.T) {
	const upstreamKey, agentKey = "sk-upstream-opensesame", "hc-agent-opensesame"
	w := build(t, askAll, callThenText, func(c *app.Config) {
		c.Proxy.Upstreams[0].APIKey = upstreamKey
		c.Proxy.Clients = []app.Client{{Key: agentKey, Tenant: "acme", User: "ann", Agent: "coder"}}
	})
	answer := make(chan string, 1)
	go func() {
		answer <- w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer "+agentKey, "X-Heldcall-Session", "s1", "X-Heldcall-User", "eve").rest()
	}()
	r := w.pending(1)[0]
	if want := (approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}); r.Principal != want || r.SessionID != "s1" {
		t.Errorf("principal %+v, session %q", r.Principal, r.SessionID)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	<-answer
	sent := w.upstream.Requests()[0]
	if got := sent.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+upstreamKey {
		t.Errorf("upstream got Authorization %q", got)
	}
	for _, f := range sent.Header {
		if strings.Contains(f.Value, agentKey) || strings.HasPrefix(strings.ToLower(f.Name), "x-heldcall") {
			t.Errorf("upstream got %s: %s", f.Name, f.Value)
		}
	}
	metrics := w.get(w.app.ConsoleURL() + "/metrics")
	events := w.events(3)
	for _, secret := range []string{upstreamKey, agentKey} {
		if strings.Contains(metrics, secret) || strings.Contains(events, secret) {
			t.Errorf("a secret is in metrics or events")
		}
	}
}

func TestPromise9_WhatIsJudgedIsWhatRuns(t *testing.T) {
	ambiguous := map[string]string{
		"duplicate names": `{"command":"ls","command":"rm -rf /"}`,
		"escaped twin":    `{"command":"ls","\u0063ommand":"rm -rf /"}`,
		"trailing data":   `{"command":"ls"}{"command":"rm"}`,
		"not an object":   `["ls"]`,
		"cut off":         `{"command":"ls`,
	}
	for name, arguments := range ambiguous {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, "default: allow\nrules:\n  - allow: [bash, \"bash(*)\"]\n", func(r *scripted.Request) scripted.Reply {
				return scripted.Answer{Calls: []scripted.Call{{ID: "call_1", Name: "bash", Arguments: arguments}}}.Reply(r)
			})
			go w.tryPost("/v1/chat/completions", wholeRequest) //nolint:errcheck // the question is what is asked
			r := w.pending(1)[0]
			if len(r.Details.Flags) == 0 || r.Details.RawArguments != arguments {
				t.Errorf("flags %q, raw arguments %q", r.Details.Flags, r.Details.RawArguments)
			}
		})
	}
}

func TestPromise10_SilenceIsNotRefusal(t *testing.T) {
	told := func(t *testing.T, policy string, d *approvals.Decision) string {
		w := build(t, policy, callThenText)
		answer := make(chan string, 1)
		go func() { answer <- w.post("/v1/chat/completions", wholeRequest).rest() }()
		if d != nil {
			w.decide(w.pending(1)[0].ID, *d)
		}
		<-answer
		return gjson.GetBytes(w.upstream.Requests()[1].Body, "messages.2.content").Str
	}
	person := told(t, askAll, &approvals.Decision{Action: approvals.ActionDeny, Note: "too risky"})
	rule := told(t, "rules:\n  - deny: [bash]\n    reason: never here\n", nil)
	silence := told(t, "rules:\n  - ask: [bash]\n    timeout: 1s\n", nil)
	for what, ok := range map[string]bool{
		"person": strings.Contains(person, "human reviewer refused") && strings.Contains(person, "too risky"),
		"rule":   strings.Contains(rule, "policy refused") && strings.Contains(rule, "never here"),
		"nobody": strings.Contains(silence, "nobody answered") && strings.Contains(silence, "nobody has refused"),
	} {
		if !ok {
			t.Errorf("%s: person %q, rule %q, silence %q", what, person, rule, silence)
		}
	}
}

func TestPromise11_GatedOrRefused(t *testing.T) {
	w := build(t, denyAll, callThenText)
	gated := []string{
		"/v1/chat/completions", "/v1//chat/completions", "/v1/./chat/completions", "/v1/x/../chat/completions", "/v1/chat/x/%2e%2e/completions",
		"/v1/%63hat/completions", "/v1/chat%2fcompletions", "/v1/chat/completions/", "/v1/chat/completions;x=1", "/v1/chat;a/completions",
		"/V1/Chat/Completions", "//v1/chat/completions", "/v1/models/../chat/completions", "/v1/files/%2e%2e/chat/completions",
	}
	for _, path := range gated {
		got := w.raw(rawPost(path, wholeRequest, ""))
		if s := leaks(got); s != "" {
			t.Errorf("%s: %q reached the agent", path, s)
		}
		if !strings.Contains(got, "Understood.") {
			t.Errorf("%s: not gated: %s", path, got)
		}
	}
	for _, r := range w.upstream.Requests() {
		if r.Path != "/v1/chat/completions" {
			t.Errorf("upstream was asked for %q", r.Path)
		}
	}
	before := len(w.upstream.Requests())
	refused := []string{
		"/v1/responses", "/v1/messages", "/v1/realtime", "/v1/batches", "/v1/threads/t1/runs", "/v1/assistants", "/v1/chat/completions/abc/messages",
		"/v1/unknown", "/other", "/v1/%2563hat/completions", "/v1/chat\\completions", "/v1/files/..%252fchat/completions", "/v1/chat/completions%00", "/v1/chat/completions%0d%0aX: y",
	}
	for _, path := range refused {
		got := w.raw(rawPost(path, wholeRequest, ""))
		if !strings.HasPrefix(got, "HTTP/1.1 501") && !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("%s: %.200s", path, got)
		}
	}
	if got := w.raw("GET /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 501") {
		t.Errorf("stored completions: %.200s", got)
	}
	if got := w.raw(rawPost("/v1/chat/completions", wholeRequest, "Upgrade: websocket\r\n")); !strings.HasPrefix(got, "HTTP/1.1 501") {
		t.Errorf("upgrade: %.200s", got)
	}
	if n := len(w.upstream.Requests()); n != before {
		t.Errorf("%d refused requests reached upstream", n-before)
	}
	if got := w.get(w.app.ConsoleURL() + "/readyz"); !strings.Contains(got, `"canary","ok":true`) {
		t.Errorf("readyz: %s", got)
	}
}
