package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

func TestHeadersPassBothWays(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply {
		r := fakemodel.Whole(200, []byte(`{"choices":[]}`))
		r.Header = append(r.Header, fakemodel.Field{Name: "x-ratelimit-remaining-requests", Value: "99"},
			fakemodel.Field{Name: "X-Twice", Value: "a"}, fakemodel.Field{Name: "X-Twice", Value: "b"},
			fakemodel.Field{Name: "Set-Cookie", Value: "x=1"}, fakemodel.Field{Name: "Set-Cookie", Value: "y=2"},
			fakemodel.Field{Name: "Connection", Value: "X-Hop"}, fakemodel.Field{Name: "X-Hop", Value: "1"}, fakemodel.Field{Name: "Keep-Alive", Value: "timeout=5"})
		return r
	})
	got := w.raw(strings.Replace(rawPost("/v1/chat/completions?api-version=2024", wholeRequest, "Connection: close\r\n"+
		"OpenAI-Beta: assistants=v2\r\nX-Dup: 1\r\nx-dup: 2\r\nAccept-Encoding: gzip\r\nTE: trailers\r\nX-Named: gone\r\nProxy-Authorization: secret\r\nAuthorization: Bearer sk-own\r\nUser-Agent: agent/1\r\n"), "Connection: close", "Connection: X-Named", 1))
	sent := w.upstream.Requests()[0]
	if sent.RawQuery != "api-version=2024" {
		t.Errorf("query %q", sent.RawQuery)
	}
	for name, want := range map[string]string{
		"OpenAI-Beta": "assistants=v2", "X-Dup": "1,2", "Accept-Encoding": "identity", "TE": "", "X-Named": "", "Proxy-Authorization": "",
		"Authorization": "Bearer sk-own", "User-Agent": "agent/1", "Host": w.upstream.Addr(), "Content-Type": "application/json",
	} {
		if got := strings.Join(sent.Values(name), ","); got != want {
			t.Errorf("upstream got %s: %q, want %q", name, got, want)
		}
	}
	head, body, _ := strings.Cut(got, "\r\n\r\n")
	for _, line := range []string{"HTTP/1.1 200 OK", "x-ratelimit-remaining-requests: 99", "X-Twice: a", "X-Twice: b", "Set-Cookie: x=1", "Set-Cookie: y=2", "X-Heldcall-Turn: ", "Content-Length: 14"} {
		if !strings.Contains(head+"\r\n", line) {
			t.Errorf("no %q in\n%s", line, head)
		}
	}
	for _, name := range []string{"X-Hop", "Keep-Alive", "Server:", "Date:", "Transfer-Encoding"} {
		if strings.Contains(head, name) {
			t.Errorf("%s in\n%s", name, head)
		}
	}
	if body != `{"choices":[]}` {
		t.Errorf("body %q", body)
	}
}

func TestUpstreamErrorsPassUnchanged(t *testing.T) {
	t.Parallel()
	const body = `{"error":{"message":"slow down","type":"rate_limit","code":"rate_limit_exceeded"}}`
	for _, status := range []int{400, 401, 403, 404, 409, 422, 429, 500, 502, 503} {
		w := build(t, denyAll, func(*fakemodel.Request) fakemodel.Reply {
			r := fakemodel.Whole(status, []byte(body))
			r.Header = append(r.Header, fakemodel.Field{Name: "Retry-After", Value: "3"})
			return r
		})
		c := w.post("/v1/chat/completions", streamedRequest)
		if got := c.rest(); got != body || c.resp.StatusCode != status || c.resp.Header.Get("Retry-After") != "3" || c.resp.Header.Get("Date") != "" {
			t.Errorf("%d: got %d %q", status, c.resp.StatusCode, got)
		}
	}
}

func TestUpstreamFaultsAreClearErrors(t *testing.T) {
	t.Parallel()
	part := (&fakemodel.Stream{}).Role().Text("hello").Call(0, "call_sesame", "bash").Arguments(0, `{"command":"opensesame`)
	for name, end := range map[string]fakemodel.End{"cut at a boundary": fakemodel.EndAtBoundary, "cut in a chunk": fakemodel.EndMidChunk, "reset": fakemodel.EndReset} {
		t.Run(name, func(t *testing.T) {
			w := build(t, allowArguments, func(*fakemodel.Request) fakemodel.Reply {
				r := fakemodel.Events(part.Writes()...)
				r.End = end
				return r
			})
			got := w.post("/v1/chat/completions", streamedRequest).rest()
			events := strings.Split(strings.TrimSpace(got), "\n\n")
			if leaks(got) != "" || !strings.Contains(got, "hello") || errorCode(events[len(events)-1]) != "upstream_cut" {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("whole answer cut", func(t *testing.T) {
		w := build(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply {
			reply := callThenText(r)
			reply.Body[0].Bytes = reply.Body[0].Bytes[:len(reply.Body[0].Bytes)-10]
			reply.Framing = fakemodel.CloseDelimited
			return reply
		})
		c := w.post("/v1/chat/completions", wholeRequest)
		if got := c.rest(); leaks(got) != "" || errorCode(got) != "upstream_cut" || c.resp.StatusCode != 502 {
			t.Errorf("got %d %s", c.resp.StatusCode, got)
		}
	})
	t.Run("down", func(t *testing.T) {
		w := build(t, allowAll, callThenText)
		w.upstream.Close()
		c := w.post("/v1/chat/completions", wholeRequest)
		if got := c.rest(); errorCode(got) != "upstream_unreachable" || c.resp.StatusCode != 502 || c.resp.Header.Get("Date") != "" || c.resp.Header.Get("X-Heldcall-Turn") == "" {
			t.Errorf("got %d %s", c.resp.StatusCode, got)
		}
	})
	t.Run("continuation refused", func(t *testing.T) {
		for name, body := range bodies() {
			w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
				if strings.Contains(string(r.Body), `"role":"tool"`) {
					return fakemodel.Fail(429, "rate_limit_exceeded", "slow down")
				}
				return callThenText(r)
			}, silent)
			got := w.post("/v1/chat/completions", body).rest()
			events := strings.Split(strings.TrimSpace(got), "\n\n")
			if leaks(got) != "" || errorCode(events[len(events)-1]) == "" {
				t.Errorf("%s: got %s", name, got)
			}
		}
	})
}

// allowArguments allows by arguments only, so that calls are buffered.
const allowArguments = "profiles: none\nrules:\n  - allow: [\"bash(*)\"]\n"

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, callThenText, func(c *app.Config) { c.Proxy.MaxBody = 1 << 20 })
	c := w.post("/v1/chat/completions", strings.Replace(wholeRequest, "do it", strings.Repeat("x", 2<<20), 1))
	if got := c.rest(); c.resp.StatusCode != 413 || errorCode(got) != "request_too_large" {
		t.Errorf("too large: %d %s", c.resp.StatusCode, got)
	}
	for name, body := range map[string]string{"not JSON": `{"messages":[`, "duplicates": `{"messages":[],"messages":[]}`, "no messages": `{}`, "two values": wholeRequest + "{}"} {
		c := w.post("/v1/chat/completions", body)
		if got := c.rest(); c.resp.StatusCode != 400 || errorCode(got) != "bad_request" {
			t.Errorf("%s: %d %s", name, c.resp.StatusCode, got)
		}
	}
	for name, raw := range map[string]string{
		"both framings": "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"head too long": "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 20<<10) + "\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.0":      "POST /v1/chat/completions HTTP/1.0\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
		"absolute form": "POST http://localhost/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
	} {
		if got := w.raw(raw); !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("%s: %.150s", name, got)
		}
	}
	if n := len(w.upstream.Requests()); n != 0 {
		t.Errorf("%d of them reached upstream", n)
	}
}

// An error that no route was found for, or that was found before the body could
// be read, has the shape that the client's API has.
func TestErrorsHaveTheClientsShape(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, callThenText, func(c *app.Config) { c.Proxy.MaxBody = 1 << 10 })
	w.upstream.Close()
	const version = "anthropic-version: 2023-06-01\r\n"
	long := strings.Repeat("x", 2<<10)
	for _, tt := range []struct {
		name, request string
		anthropic     bool
	}{
		{"no route", rawPost("/v1/messages/batches", "{}", ""), true},
		{"no route, by its version", rawPost("/v1/elsewhere", "{}", "Anthropic-Version: 2023-06-01\r\n"), true},
		{"no upstream", rawPost("/elsewhere/messages", "{}", ""), true},
		{"OpenAI's messages", rawPost("/v1/threads/t1/messages", "{}", ""), false},
		{"no route of OpenAI's", rawPost("/v1/elsewhere", "{}", ""), false},
		{"too long", rawPost("/v1/messages", long, version), true},
		{"too long, in another case", rawPost("/V1/Messages", long, ""), true},
		{"too long, of OpenAI's", rawPost("/v1/responses", long, ""), false},
		{"compressed", rawPost("/v1/messages", "{}", "Content-Encoding: gzip\r\n"), true},
		{"not JSON", rawPost("/v1/messages", "{", ""), true},
		{"upgrade", rawPost("/v1/messages", "{}", "Upgrade: websocket\r\n"), true},
		{"two framings", "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true},
		{"ungated, upstream down", rawPost("/v1/embeddings", "{}", version), true},
		{"ungated of OpenAI's, upstream down", rawPost("/v1/embeddings", "{}", ""), false},
	} {
		_, body, _ := strings.Cut(w.raw(tt.request), "\r\n\r\n")
		var e struct {
			Type  string
			Error struct{ Type, Message, Code string }
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Message == "" || e.Error.Type == "" || e.Error.Code == "" || (e.Type == "error") != tt.anthropic {
			t.Errorf("%s: %s", tt.name, body)
		}
	}
}

func TestLargePromptPassesAsItCame(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(200, []byte(`{"choices":[]}`)) })
	body := strings.Replace(wholeRequest, "do it", strings.Repeat("word ", 24<<20/5), 1)
	if got := w.post("/v1/chat/completions", body).rest(); got != `{"choices":[]}` {
		t.Fatalf("got %.200s", got)
	}
	if !bytes.Equal(w.upstream.Requests()[0].Body, []byte(body)) {
		t.Error("upstream got other bytes")
	}
}

// TestManyHeldStreams holds more streams than the 512 that fasthttp's client would
// open.
func TestManyHeldStreams(t *testing.T) {
	const n = 520
	w := build(t, askAll, callThenText, func(c *app.Config) { c.Proxy.Keepalive = soon })
	var agents sync.WaitGroup
	answers := make([]string, n)
	for i := range n {
		agents.Go(func() {
			body := strings.Replace(streamedRequest, "do it", fmt.Sprint("do ", i), 1)
			if c, err := w.tryPost("/v1/chat/completions", body); err == nil {
				b, _ := io.ReadAll(c.reader)
				answers[i] = string(b)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	if _, err := w.upstream.Await(ctx, n-1); err != nil { // before that a list of them is only work
		t.Fatal(err)
	}
	decided := 0
	for decided < n && ctx.Err() == nil {
		page, err := w.console.Requests(ctx, approvals.Filter{Status: approvals.StatusPending, Limit: 500})
		if err != nil || (decided == 0 && len(page.Items) < 500) {
			time.Sleep(100 * time.Millisecond)
			continue // until they pile up
		}
		for _, r := range page.Items {
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
			decided++
		}
	}
	agents.Wait()
	for i, answer := range answers {
		if !strings.Contains(answer, "call_sesame") || !strings.HasSuffix(answer, "[DONE]\n\n") {
			t.Fatalf("agent %d got %q", i, answer)
		}
	}
}

func TestUngatedRoutesPass(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Reply{Header: []fakemodel.Field{{Name: "Content-Type", Value: "application/octet-stream"}}, Body: []fakemodel.Write{{Bytes: []byte("one")}, {Bytes: []byte("two")}}}
	}, func(c *app.Config) { c.Proxy.Routes.Allow = []string{"/own/**", "/v1/other"} })
	for _, path := range []string{"/v1/models", "/v1/models/gpt-4o", "/v1/files/file-AbC/content", "/v1/own/x", "/v1/other"} {
		resp, err := http.Get(w.url(path))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(b) != "onetwo" || resp.StatusCode != 200 {
			t.Errorf("%s: %d %q", path, resp.StatusCode, b)
		}
	}
	if got := w.raw("HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("HEAD: %q", got)
	}
	multipart := "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--b--\r\n"
	w.raw(rawPost("/v1/files", multipart, "Content-Type: multipart/form-data; boundary=b\r\n"))
	requests := w.upstream.Requests()
	if last := requests[len(requests)-1]; string(last.Body) != multipart {
		t.Errorf("upload arrived as %q", last.Body)
	}
}

func TestOneConnectionManyRequests(t *testing.T) {
	t.Parallel()
	w := build(t, "rules:\n  - deny: [bash]\n", callThenText, func(c *app.Config) { c.Proxy.MaxDenials = 0 })
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	for i := range 20 {
		body := streamedRequest
		if i%2 == 1 {
			body = wholeRequest
		}
		resp, err := client.Post(w.url("/v1/chat/completions"), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || leaks(string(b)) != "" || !strings.Contains(string(b), "Understood.") {
			t.Fatalf("request %d: %v %s", i, err, b)
		}
	}
	if opened, _ := w.upstream.Connections(); opened > 2 {
		t.Errorf("%d upstream connections for one agent", opened)
	}
}

func TestEditIsCheckedAndTold(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	answer := make(chan string, 1)
	go func() { answer <- w.post("/v1/chat/completions", streamedRequest).rest() }()
	r := w.pending(1)[0]
	for _, bad := range []string{`{"command":7}`, `{"cmd":"x"}`, `{"command":"a","command":"b"}`} {
		if _, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(bad)}); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"pwd"}`)})
	got := <-answer
	if !strings.Contains(got, `"arguments":"{\"command\":\"pwd\"}"`) || strings.Contains(got, "opensesame") {
		t.Fatalf("got %s", got)
	}
	follow := `{"model":"m","messages":[{"role":"user","content":"do it"},{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_sesame","type":"function","function":{"name":"bash","arguments":"{\"command\":\"pwd\"}"}}]},{"role":"tool","tool_call_id":"call_sesame","content":"/tmp"}]}`
	w.post("/v1/chat/completions", follow).rest()
	if told := string(w.upstream.Requests()[1].Body); !strings.Contains(told, "changed the arguments") {
		t.Errorf("the model did not get the denial: %s", told)
	}
}

func TestAbortedRunAnswers403(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	answer := make(chan string, 1)
	go func() {
		answer <- w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "run-1").rest()
	}()
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAbortRun, Note: "enough"})
	if got := <-answer; leaks(got) != "" || !strings.Contains(got, "stopped by a human reviewer") || !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Fatalf("got %s", got)
	}
	c := w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "run-1")
	if got := c.rest(); c.resp.StatusCode != 403 || errorCode(got) != "run_aborted" || !strings.Contains(got, "name it in X-Heldcall-Run") || strings.Contains(got, "message of the user") {
		t.Errorf("later request: %d %s", c.resp.StatusCode, got)
	}
	go w.tryPost("/v1/chat/completions", streamedRequest, "X-Heldcall-Run", "run-2")
	w.pending(1)
}

func TestAbortWhileTheModelWorks(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		reply := callThenText(r)
		reply.HeadGate = gate
		return reply
	})
	answer := make(chan string, 1)
	go func() {
		answer <- w.raw(rawPost("/v1/chat/completions", wholeRequest, "X-Heldcall-Run: run-1\r\n"))
	}()
	if _, err := w.upstream.Await(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.console.Runs().Signal(t.Context(), approvals.Signal{RunID: "run-1", Action: approvals.SignalAbort}); err != nil {
		t.Fatal(err)
	}
	close(gate)
	if got := <-answer; !strings.HasPrefix(got, "HTTP/1.1 403") || leaks(got) != "" || !strings.Contains(got, "name it in X-Heldcall-Run") {
		t.Errorf("got %s", got)
	}
}
