package app_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// When heldcall stops, no client gets an answer that it could take for a whole one, and
// none gets status 200 with an error in the body: an answer that has begun ends with a
// broken connection, another one with status 503 and Retry-After.
func TestShutdownEndsAnswers(t *testing.T) {
	t.Parallel()
	held := fakemodel.Answer{Text: "Let me look.", Calls: []fakemodel.Call{{ID: "call_sesame", Name: "bash", Arguments: `{"command":"ls"}`}}}
	for _, dialect := range []struct{ name, path, body string }{
		{"chat", "/v1/chat/completions", `{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"do it"}]}`},
		{"responses", "/v1/responses", `{"model":"m","stream":STREAM,"input":"do it"}`},
		{"messages", "/v1/messages", `{"model":"m","max_tokens":9,"stream":STREAM,"messages":[{"role":"user","content":"do it"}]}`},
	} {
		for _, at := range []struct {
			name     string
			streamed string
			beats    bool // heartbeats begin a whole answer
			script   fakemodel.Script
			pending  int
			begun    bool // the agent has got the head
		}{
			{name: "held, streamed", streamed: "true", script: held.Reply, pending: 1, begun: true},
			{name: "held, whole, before the head", streamed: "false", script: held.Reply, pending: 1},
			{name: "held, whole, after a heartbeat", streamed: "false", beats: true, script: held.Reply, pending: 1, begun: true},
			{name: "text, streamed", streamed: "true", script: stalled(fakemodel.Answer{Text: "Let me look."}), begun: true},
			{name: "before upstream answers", streamed: "true", script: func(r *fakemodel.Request) fakemodel.Reply {
				return fakemodel.Reply{HeadGate: make(chan struct{})}
			}},
		} {
			t.Run(dialect.name+" "+at.name, func(t *testing.T) {
				t.Parallel()
				w := build(t, askAll, at.script, func(c *app.Config) {
					if !at.beats {
						c.Proxy.Keepalive = time.Hour
					}
				})
				type result struct {
					status int
					retry  string
					body   string
					err    error
				}
				answer, begun := make(chan result, 1), make(chan struct{})
				go func() {
					c, err := w.tryPost(dialect.path, strings.ReplaceAll(dialect.body, "STREAM", at.streamed))
					if err != nil {
						answer <- result{err: err}
						return
					}
					close(begun)
					body, err := io.ReadAll(c.reader)
					answer <- result{c.resp.StatusCode, c.resp.Header.Get("Retry-After"), string(body), err}
				}()
				if _, err := w.upstream.Await(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				w.pending(at.pending)
				if at.begun {
					<-begun
				}
				if err := w.stop(); err != nil {
					t.Fatal(err)
				}
				got := <-answer
				switch {
				case at.begun && (got.status != http.StatusOK || !errors.Is(got.err, io.ErrUnexpectedEOF) || strings.Contains(got.body, "shutting_down")):
					t.Errorf("status %d, %v, %q; want an answer that breaks off", got.status, got.err, got.body)
				case !at.begun && (got.status != http.StatusServiceUnavailable || got.retry == "" || got.err != nil || !strings.Contains(got.body, "shutting_down")):
					t.Errorf("status %d, Retry-After %q, %v, %q", got.status, got.retry, got.err, got.body)
				}
				if strings.Contains(got.body, "sesame") {
					t.Errorf("the call has leaked: %s", got.body)
				}
			})
		}
	}
}

// stalled is a script whose streams never end.
func stalled(a fakemodel.Answer) fakemodel.Script {
	return func(r *fakemodel.Request) fakemodel.Reply {
		reply := a.Reply(r)
		reply.Body, reply.End = reply.Body[:len(reply.Body)-1], fakemodel.EndStall
		return reply
	}
}
