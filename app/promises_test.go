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
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// The promises of the design, each through the front door: a scripted upstream,
// the real proxy, the real store, an agent that is a plain HTTP client.

func bodies() map[string]string {
	return map[string]string{"streamed": streamedRequest, "whole": wholeRequest}
}

func TestPromise1_NoLeak(t *testing.T) {
	t.Parallel()
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
		t.Run(name+" no answer", func(t *testing.T) {
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
	t.Parallel()
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
				if besideCalls(got) != besideCalls(string(want)) || !strings.Contains(got, "call_sesame") {
					t.Fatalf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
	t.Run("text is not delayed by a held call", func(t *testing.T) {
		t.Parallel()
		gate := make(chan struct{})
		w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
			s := (&fakemodel.Stream{}).Role().Text("first")
			first := s.Writes()
			s = (&fakemodel.Stream{}).Call(0, "call_sesame", "bash").Arguments(0, `{"command":"ls"}`).Finish("tool_calls").Done()
			rest := s.Writes()
			rest[0].Gate = gate
			return fakemodel.Events(append(first, rest...)...)
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
	t.Parallel()
	bad := map[string]fakemodel.Reply{
		"not JSON":             fakemodel.Events(fakemodel.Write{Bytes: []byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"bash\"\n\n")}),
		"duplicate names":      fakemodel.Events(fakemodel.Write{Bytes: []byte(`data: {"choices":[],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_sesame","function":{"name":"bash","arguments":"{}"}}]}}]}` + "\n\n")}),
		"unknown call key":     fakemodel.Events(fakemodel.Write{Bytes: []byte(`data: {"choices":[{"index":0,"delta":{"bash_call":{"x":"opensesame"}}}]}` + "\n\n")}),
		"whole not JSON":       fakemodel.Whole(200, []byte(`{"choices":[{"message":{"tool_calls":[{"function":{"name":"bash"`)),
		"HTML":                 {Header: []fakemodel.Field{{Name: "Content-Type", Value: "text/html"}}, Body: []fakemodel.Write{{Bytes: []byte("<html>bash</html>")}}},
		"gzip":                 {Header: []fakemodel.Field{{Name: "Content-Type", Value: "application/json"}, {Name: "Content-Encoding", Value: "gzip"}}, Body: []fakemodel.Write{{Bytes: []byte("\x1f\x8bbash")}}},
		"JSON labelled stream": {Header: []fakemodel.Field{{Name: "Content-Type", Value: "text/event-stream"}}, Body: []fakemodel.Write{{Bytes: []byte(`{"choices":[{"message":{"bash_call":{"x":"opensesame"}}}]}`)}}},
	}
	for name, reply := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply { return reply })
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
		huge := fakemodel.Call{ID: "call_sesame", Name: "bash", Arguments: `{"command":"opensesame ` + strings.Repeat("x", 5<<20) + `"}`}
		w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
			return fakemodel.Answer{Calls: []fakemodel.Call{huge}}.Reply(r)
		})
		got := w.post("/v1/chat/completions", wholeRequest).rest()
		if leaks(got) != "" || errorCode(got) == "" {
			t.Fatalf("got %.300s", got)
		}
	})
}

func TestPromise4_RecordedFirst(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	answer := make(chan string, 1)
	go func() { answer <- w.post("/v1/chat/completions", streamedRequest).rest() }()
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	<-answer
	// The order of the log. That each entry is there in time is tested in packages gate and turn.
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
	want := []approvals.EventType{approvals.EventPolicyChanged, approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventCallReleased}
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
	t.Parallel()
	for name, body := range bodies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, denyAll, callThenText)
			w.post("/v1/chat/completions", body).rest()
			requests := w.upstream.Requests()
			if len(requests) != 2 {
				t.Fatalf("%d upstream requests, want 2", len(requests))
			}
			conversation, err := fakemodel.ParseConversation(requests[1].Body)
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
	t.Parallel()
	for name, body := range bodies() {
		t.Run(name+" agent leaves while held", func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, callThenText, func(c *app.Config) { c.Proxy.Keepalive, c.Hold.OrphanTTL = time.Hour, time.Millisecond })
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
			w := build(t, askAll, callThenText, func(c *app.Config) { c.Proxy.Keepalive, c.Hold.OrphanTTL = time.Hour, time.Millisecond })
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
		w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply {
			r := fakemodel.Events((&fakemodel.Stream{}).Role().Text("hello").Writes()...)
			r.End = fakemodel.EndStall
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
		w := build(t, allowAll, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{HeadGate: never} })
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
}
