package app_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy"
	"github.com/tidwall/gjson"
)

// The promises from the eighth on: secrets, judgement, words and routes.

func TestPromise8_SecretsStay(t *testing.T) {
	t.Parallel()
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
		if strings.Contains(metrics, secret) || strings.Contains(events, secret) || strings.Contains(w.log.String(), secret) {
			t.Errorf("a secret is in metrics, events or log")
		}
	}
}

func TestPromise9_WhatIsJudgedIsWhatRuns(t *testing.T) {
	t.Parallel()
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
			w := build(t, "default: allow\nrules:\n  - allow: [bash, \"bash(*)\"]\n", func(r *fakemodel.Request) fakemodel.Reply {
				return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: arguments}}}.Reply(r)
			})
			go w.tryPost("/v1/chat/completions", wholeRequest)
			r := w.pending(1)[0]
			if len(r.Details.Flags) == 0 || r.Details.RawArguments != arguments {
				t.Errorf("flags %q, raw arguments %q", r.Details.Flags, r.Details.RawArguments)
			}
		})
	}
}

func TestPromise10_SilenceIsNotRefusal(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	w := buildProven(t, nil, denyAll, callThenText)
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
		"/v1/responses/r1", "/v1/responses/r1/input_items", "/v1/messages/batches", "/v1/threads/t1/messages", "/v1/realtime", "/v1/batches", "/v1/threads/t1/runs", "/v1/assistants", "/v1/chat/completions/abc/messages",
		"/v1/unknown", "/other", "/v1/%2563hat/completions", "/v1/chat\\completions", "/v1/files/..%252fchat/completions", "/v1/chat/completions%00", "/v1/chat/completions%0d%0aX: y",
	}
	for _, path := range refused {
		got := w.raw(rawPost(path, wholeRequest, ""))
		if !strings.HasPrefix(got, "HTTP/1.1 501") && !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("%s: %.200s", path, got)
		}
	}
	if got := w.raw("GET /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 501") {
		t.Errorf("stored completions: %.200s", got)
	}
	if got := w.raw("GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUpgrade: websocket\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 426") || !strings.Contains(got, `"route_not_gated"`) {
		t.Errorf("upgrade of responses: %s", got)
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

// A canary that would have passed unheld is an error of the start that operators see.
func TestFailedCanaryIsNotReady(t *testing.T) {
	t.Parallel()
	w := buildProven(t, func(context.Context, *proxy.Proxy) error { return errors.New("a call passed") }, denyAll, callThenText)
	if got := w.get(w.app.ConsoleURL() + "/readyz"); !strings.Contains(got, `{"name":"canary","ok":false,"error":"a call passed"}`) {
		t.Errorf("readyz: %s", got)
	}
	if got := w.get(w.app.ConsoleURL() + "/metrics"); !strings.Contains(got, "heldcall_canary_passed 0\n") {
		t.Error("the metric reports that it passed")
	}
	if got := w.log.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "a call passed") {
		t.Errorf("the log lacks it: %s", got)
	}
}
