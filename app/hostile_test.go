package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// What a hostile review found, each as the test that shows it.

func TestNoAnswerStatusCarriesACall(t *testing.T) {
	t.Parallel()
	for _, status := range []int{300, 302, 400, 404, 422, 500} {
		w := build(t, denyAll, func(*fakemodel.Request) fakemodel.Reply {
			return fakemodel.Whole(status, fakemodel.Answer{Calls: []fakemodel.Call{lsCall}}.Whole())
		})
		if got := w.raw(rawPost("/v1/chat/completions", wholeRequest, "")); leaks(got) != "" || !strings.HasPrefix(got, "HTTP/1.1 502") {
			t.Errorf("status %d: %.200s", status, got)
		}
	}
}

// A client that follows a redirect would reach the model past heldcall.
func TestRedirectsOfGatedRoutesAreRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{300, 301, 302, 303, 307, 308} {
		w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply {
			return fakemodel.Reply{Status: status, Header: []fakemodel.Field{{Name: "Location", Value: "https://elsewhere.example/v1/chat/completions"}}, Framing: fakemodel.ContentLength}
		})
		for _, body := range []string{streamedRequest, wholeRequest} {
			if got := w.raw(rawPost("/v1/chat/completions", body, "")); !strings.HasPrefix(got, "HTTP/1.1 502") || strings.Contains(got, "elsewhere.example") || !strings.Contains(got, "upstream_unreachable") {
				t.Errorf("status %d: %s", status, got)
			}
		}
	}
}

// A client that follows a character set other than UTF-8 reads other text than was judged.
func TestOtherCharacterSetsAreRefused(t *testing.T) {
	t.Parallel()
	for name, body := range bodies() {
		w := build(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply {
			reply := callThenText(r)
			reply.Header = []fakemodel.Field{{Name: "Content-Type", Value: "text/event-stream; charset=Shift_JIS"}}
			return reply
		})
		if got := w.raw(rawPost("/v1/chat/completions", body, "")); !strings.HasPrefix(got, "HTTP/1.1 502") || leaks(got) != "" {
			t.Errorf("answer, %s: %s", name, got)
		}
		for _, label := range []string{"application/json; charset=utf-7", "application/json\r\ncontent-type: text/plain;charset=utf-16"} {
			request := strings.Replace(rawPost("/v1/chat/completions", body, ""), "application/json", label, 1)
			if got := w.raw(request); !strings.HasPrefix(got, "HTTP/1.1 400") || len(w.upstream.Requests()) != 1 {
				t.Errorf("request, %s: %s", name, got)
			}
		}
	}
}

// A route that carries no calls does so with its own methods only, and no setting
// lets a gated one pass under another.
func TestMethodsAreExact(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, callThenText, func(c *app.Config) { c.Proxy.Routes.Allow = []string{"/v1/**"} })
	for _, line := range []string{"PATCH /v1/responses/resp_1", "get /v1/responses/resp_1", "PUT /v1/chat/completions", "post /v1/messages", "HEAD /v1/responses/resp_1"} {
		if got := w.raw(line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 501") {
			t.Errorf("%s: %.100s", line, got)
		}
	}
	w = build(t, denyAll, callThenText)
	for _, line := range []string{"E /v1/models", "OST /v1/embeddings", "GET%20HEAD /v1/models", "POS /v1/files"} {
		if got := w.raw(line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 501") && !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("%s: %.100s", line, got)
		}
	}
	if n := len(w.upstream.Requests()); n != 0 {
		t.Errorf("%d reached upstream", n)
	}
}

// Servers that route by a header get the route that heldcall has judged. Finding L3: in
// any spelling.
func TestHeadersDoNotRoute(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(200, []byte(`{"data":[]}`)) })
	const overrides = "X-HTTP-Method-Override: GET\r\nx-http-method: GET\r\nX-Method-Override: GET\r\nX-Original-URL: /v1/chat/completions\r\nX-Rewrite-Url: /v1/chat/completions\r\n" +
		"X-Original-Uri: /x\r\nX-Forwarded-Uri: /x\r\nX-Forwarded-Path: /x\r\nx-envoy-original-path: /x\r\nX_Original_URL: /x\r\nX-Original_Uri: /x\r\nX_HTTP_Method_Override: GET\r\n"
	w.raw("DELETE /v1/responses/resp_1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + overrides + "Content-Length: 0\r\n\r\n")
	w.raw(rawPost("/v1/chat/completions", wholeRequest, overrides))
	for _, r := range w.upstream.Requests() {
		for _, f := range r.Header {
			if name := strings.ToLower(f.Name); strings.Contains(name, "method") || strings.Contains(name, "url") || strings.Contains(name, "uri") || strings.Contains(name, "path") {
				t.Errorf("%s %s goes upstream with %s", r.Method, r.Path, f.Name)
			}
		}
	}
	if n := len(w.upstream.Requests()); n != 2 {
		t.Errorf("%d reached upstream", n)
	}
}

// The path of the upstream's URL is part of the route.
func TestRouteBeginsInTheUpstreamsURL(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, callThenText, func(c *app.Config) {
		c.Proxy.Upstreams[0].URL += "/chat"
		c.Proxy.Routes.Allow = []string{"/v1/comp*"}
	})
	if got := w.raw(rawPost("/v1/completions", wholeRequest, "")); !strings.HasPrefix(got, "HTTP/1.1 501") || len(w.upstream.Requests()) != 0 {
		t.Errorf("%s", got)
	}
}

func TestGeneratingBelowModelsIsRefused(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, callThenText)
	for _, path := range []string{"/v1/models/gemini-2.5-pro:generateContent", "/v1/models/x:streamGenerateContent?alt=sse", "/v1/models/x/predictions", "/v1/models/x"} {
		if got := w.raw(rawPost(path, wholeRequest, "")); !strings.HasPrefix(got, "HTTP/1.1 501") {
			t.Errorf("%s: %.100s", path, got)
		}
	}
	if n := len(w.upstream.Requests()); n != 0 {
		t.Errorf("%d reached upstream", n)
	}
}

func TestHeaderNamesInAnyLetterCase(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText, func(c *app.Config) {
		c.Proxy.Clients = []app.Client{{Key: "hc-key", Tenant: "acme", Agent: "coder"}}
	})
	conn := w.dial()
	defer conn.Close()
	conn.send(rawPost("/v1/chat/completions", streamedRequest, "authorization: Bearer hc-key\r\nx-heldcall-session: s1\r\nx-heldcall-run: r1\r\n"))
	r := w.pending(1)[0]
	if r.Principal.Tenant != "acme" || r.SessionID != "s1" || r.RunID != "r1@acme" {
		t.Errorf("principal %+v, session %q, run %q", r.Principal, r.SessionID, r.RunID)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := w.raw(rawPost("/v1/chat/completions", wholeRequest, "upgrade: websocket\r\n")); !strings.HasPrefix(got, "HTTP/1.1 501") {
		t.Errorf("upgrade: %.100s", got)
	}
}

func TestUngatedRoutesReuseConnections(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(200, []byte(`{"data":[]}`)) })
	for range 10 {
		resp, err := http.Get(w.url("/v1/models"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if opened, _ := w.upstream.Connections(); opened > 2 {
		t.Errorf("%d connections for ten requests one after the other", opened)
	}
}

func TestEmptyContinuationIsAnError(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]fakemodel.Reply{
		"no body":   fakemodel.Whole(200, nil),
		"done only": fakemodel.Events(fakemodel.Write{Bytes: []byte("data: [DONE]\n\n")}),
		"comment":   fakemodel.Events(fakemodel.Write{Bytes: []byte(": x\n\n")}),
		"no choice": fakemodel.Whole(200, []byte(`{"choices":[]}`)),
	} {
		for kind, body := range bodies() {
			w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
				if strings.Contains(string(r.Body), `"role":"tool"`) {
					return reply
				}
				return callThenText(r)
			}, silent)
			got := w.post("/v1/chat/completions", body).rest()
			events := strings.Split(strings.TrimSpace(got), "\n\n")
			if leaks(got) != "" || errorCode(events[len(events)-1]) == "" {
				t.Errorf("%s, %s: %q", name, kind, got)
			}
		}
	}
}

// What upstream reports in place of a continuation ends the answer, and is asked once.
func TestErrorInPlaceOfAContinuation(t *testing.T) {
	t.Parallel()
	const fault = `data: {"error":{"message":"Overloaded"}}` + "\n\n"
	var asked atomic.Int32
	w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
		if asked.Add(1); strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Events(fakemodel.Write{Bytes: []byte(fault)})
		}
		return callThenText(r)
	})
	if got := w.post("/v1/chat/completions", streamedRequest).rest(); !strings.HasSuffix(got, fault) || leaks(got) != "" || asked.Load() != 2 {
		t.Errorf("upstream was asked %d times; the agent has %q", asked.Load(), got)
	}
}

func TestHeartbeatsWhileTheModelWorks(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	t.Run("on the arguments of a held call", func(t *testing.T) {
		w := build(t, allowArguments, func(*fakemodel.Request) fakemodel.Reply {
			writes := (&fakemodel.Stream{}).Role().Text("hi").Call(0, "call_sesame", "bash").Arguments(0, `{"command":`).Writes()
			rest := (&fakemodel.Stream{}).Arguments(0, `"ls"}`).Finish("tool_calls").Done().Writes()
			rest[0].Gate = gate
			return fakemodel.Events(append(writes, rest...)...)
		})
		c := w.post("/v1/chat/completions", streamedRequest)
		if before := c.until(": keepalive\n: keepalive\n"); leaks(before) != "" {
			t.Errorf("leak: %s", before)
		}
		close(gate)
		if rest := c.rest(); !strings.Contains(rest, "call_sesame") {
			t.Errorf("got %s", rest)
		}
	})
	for where, hold := range map[string]func(*fakemodel.Reply, <-chan struct{}){
		"head": func(r *fakemodel.Reply, gate <-chan struct{}) { r.HeadGate = gate },
		"body": func(r *fakemodel.Reply, gate <-chan struct{}) { r.Body[0].Gate = gate },
	} {
		for kind, body := range bodies() {
			t.Run("on the "+where+" of a continuation, "+kind, func(t *testing.T) {
				gate := make(chan struct{})
				w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
					reply := callThenText(r)
					if strings.Contains(string(r.Body), `"role":"tool"`) {
						hold(&reply, gate)
					}
					return reply
				})
				c := w.post("/v1/chat/completions", body) // has the head
				beats := "\n\n"
				if kind == "streamed" {
					beats = ": keepalive\n: keepalive\n"
				}
				before := c.until(beats)
				close(gate)
				rest := before + c.rest()
				if leaks(rest) != "" || !strings.Contains(rest, "Understood.") || c.resp.StatusCode != 200 || c.resp.Header.Get("Content-Type") == "" {
					t.Errorf("got %s", rest)
				}
				if kind == "whole" && !json.Valid([]byte(rest)) {
					t.Errorf("not JSON: %q", rest)
				}
			})
		}
	}
}

func TestAgentLeavesDuringAContinuation(t *testing.T) {
	t.Parallel()
	for name, keepalive := range map[string]time.Duration{"before it has the head": time.Hour, "between heartbeats": 20 * time.Millisecond} {
		for kind, body := range bodies() {
			never := make(chan struct{})
			t.Cleanup(func() { close(never) })
			w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
				reply := callThenText(r)
				if strings.Contains(string(r.Body), `"role":"tool"`) {
					reply.HeadGate = never
				}
				return reply
			}, func(c *app.Config) { c.Proxy.Keepalive = keepalive })
			conn := w.dial()
			conn.send(rawPost("/v1/chat/completions", body, ""))
			r, err := w.upstream.Await(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if keepalive < time.Second {
				if _, err := conn.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			conn.Close()
			select {
			case <-r.Gone():
			case <-time.After(soon):
				t.Errorf("%s, %s: upstream was not cancelled", name, kind)
			}
		}
	}
}

func TestAbortEndsWithTheUsersNextMessage(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	answer := make(chan string, 1)
	go func() { answer <- w.post("/v1/chat/completions", streamedRequest).rest() }()
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAbortRun})
	<-answer
	again := w.post("/v1/chat/completions", streamedRequest)
	if got := again.rest(); again.resp.StatusCode != 403 || !strings.Contains(got, "new message of the user") {
		t.Errorf("the same task: %d %s", again.resp.StatusCode, got)
	}
	next := strings.Replace(streamedRequest, `{"role":"user","content":"do it"}`, `{"role":"user","content":"do it"},{"role":"assistant","content":"stopped"},{"role":"user","content":"now this"}`, 1)
	go func() { answer <- w.post("/v1/chat/completions", next).rest() }()
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := <-answer; !strings.Contains(got, "call_sesame") {
		t.Errorf("the next task: %s", got)
	}
}

func TestAskWithAHugePrompt(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	prompt := strings.Repeat("word ", 9<<20/5) // more than a record of the store can hold
	go w.tryPost("/v1/chat/completions", strings.Replace(wholeRequest, "do it", prompt, 1))
	r := w.pending(1)[0]
	if n := len(r.Context.LastUserMessage); n > 10<<10 || !strings.Contains(r.Context.LastUserMessage, "left out") {
		t.Errorf("%d bytes of the user's message are in the request", n)
	}
}

func TestPausedRunIsReleasedAtShutdown(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText, func(c *app.Config) { c.Proxy.Keepalive = time.Hour })
	answer := make(chan string, 1)
	go func() {
		if c, err := w.tryPost("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "r1"); err == nil {
			got, _ := io.ReadAll(c.reader) // it breaks off
			answer <- string(got)
		}
	}()
	r := w.pending(1)[0]
	if _, err := w.console.Runs().Signal(t.Context(), approvals.Signal{RunID: "r1", Action: approvals.SignalPause}); err != nil {
		t.Fatal(err)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; leaks(got) != "" || strings.Contains(got, "shutting_down") {
		t.Errorf("got %s", got)
	}
}

func TestSpliceSurvivesRenderedHistory(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, callThenText)
	first := w.post("/v1/chat/completions", wholeRequest, "X-Heldcall-Session", "s").rest()
	_, content, _ := strings.Cut(first, `"content": `)
	content, _, _ = strings.Cut(content, ",\n")
	follow := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"do it","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":%s},{"role":"user","content":"go on"}]}`, content)
	w.post("/v1/chat/completions", follow, "X-Heldcall-Session", "s").rest()
	if sent := string(w.upstream.Requests()[2].Body); !strings.Contains(sent, "policy refused") {
		t.Errorf("the model has forgotten the denial: %s", sent)
	}
}
