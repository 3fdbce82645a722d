package app_test

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
)

const (
	agentTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	agentSpan   = "00f067aa0ba902b7"
	agentParent = "00-" + agentTrace + "-" + agentSpan + "-01"
)

func TestTraceOfAnApprovedCall(t *testing.T) {
	spans := receive(t)
	w := build(t, "rules:\n  - ask: [bash]\n    risk: high\n", callThenText, spans.on, func(c *app.Config) {
		c.Proxy.Upstreams[0].APIKey = "sk-secret-of-the-upstream"
		c.Proxy.Clients = []app.Client{{Key: "sk-of-the-agent", Tenant: "acme", User: "ann", Agent: "coder"}}
		c.Tracing.Headers = []app.Header{{Name: "x-api-token", Value: "token-of-the-receiver"}}
	})
	answer := make(chan string, 1)
	go func() {
		c, err := w.tryPost("/v1/chat/completions?key=in-the-query", streamedRequest, "Traceparent", agentParent, "Tracestate", "a=1", "Tracestate", "b=2",
			"Authorization", "Bearer sk-of-the-agent", "X-Heldcall-Session", "s-1", "X-Heldcall-Run", "r-1")
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- c.rest()
	}()
	request := w.pending(1)[0]
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove, Note: "a note of the reviewer"})
	if got := <-answer; !strings.Contains(got, "call_sesame") {
		t.Fatalf("the agent got %q", got)
	}
	upstream := w.upstream.Requests()[0]
	tr := spans.trace(w)
	top, up, hold, decide := tr.span("POST chat", 0), tr.span("chat m", 0), tr.span("hold bash", 0), tr.span("decide bash", 0)
	if len(tr.spans) != 4 || hex.EncodeToString(top.TraceId) != agentTrace || hex.EncodeToString(top.ParentSpanId) != agentSpan {
		t.Errorf("%d spans, and the first is one of trace %x below %x", len(tr.spans), top.TraceId, top.ParentSpanId)
	}
	tr.child(top, up)
	tr.child(top, hold)
	tr.child(hold, decide)
	if want := "00-" + agentTrace + "-" + hex.EncodeToString(up.SpanId) + "-01"; upstream.Get("traceparent") != want || len(upstream.Values("traceparent")) != 1 {
		t.Errorf("upstream got traceparent %q, want %q", upstream.Values("traceparent"), want)
	}
	if got := strings.Join(upstream.Values("tracestate"), ","); got != "a=1,b=2" {
		t.Errorf("upstream got tracestate %q", got)
	}
	tr.has(top, "http.request.method", "POST", "http.response.status_code", "200", "url.path", "/v1/chat/completions", "heldcall.outcome", "held",
		"gen_ai.conversation.id", "s-1", "heldcall.run.id", "r-1@acme", "heldcall.tenant", "acme", "heldcall.user", "ann", "gen_ai.agent.name", "coder", "heldcall.turn.id", request.TurnID)
	tr.has(up, "gen_ai.operation.name", "chat", "gen_ai.provider.name", "openai", "gen_ai.request.model", "m", "gen_ai.request.stream", "true",
		"server.address", "127.0.0.1", "http.response.status_code", "200", "heldcall.continuation", "")
	tr.has(hold, "heldcall.request.id", request.ID, "gen_ai.tool.name", "bash", "gen_ai.tool.call.id", "call_sesame", "heldcall.outcome", "approved", "heldcall.risk", "high", "heldcall.rule", "policy.yaml:2")
	tr.has(decide, "heldcall.outcome", "allowed_by_person", "heldcall.reviewer", "local", "heldcall.channel", "rest", "heldcall.action", "approve", "heldcall.verdict", "ask", "gen_ai.tool.call.arguments", "")
	if spans.service != "heldcall" || spans.header.Get("X-Api-Token") != "token-of-the-receiver" {
		t.Errorf("the service is %q, the header %q", spans.service, spans.header)
	}
	for _, secret := range []string{"opensesame", "do it", "Let me look", "a note of the reviewer", "in-the-query", "sk-secret-of-the-upstream", "sk-of-the-agent"} {
		if strings.Contains(string(spans.bodies), secret) {
			t.Errorf("%q is in a span", secret)
		}
		if strings.Contains(w.log.String(), "token-of-the-receiver") {
			t.Error("the token of the receiver is in the log")
		}
	}
}

func TestTraceTellsOutcomesApart(t *testing.T) {
	f := func(action approvals.Action, args json.RawMessage, status, outcome string, upstreams int) {
		t.Helper()
		spans := receive(t)
		policy := askAll
		if action == "" {
			policy = "rules:\n  - ask: [bash]\n    timeout: 1s\n"
		}
		w := build(t, policy, callThenText, spans.on)
		c := w.post("/v1/chat/completions", streamedRequest)
		request := w.pending(1)[0]
		if action != "" {
			w.decide(request.ID, approvals.Decision{Action: action, ModifiedArgs: args})
		}
		c.rest()
		tr := spans.trace(w)
		top, hold, decide := tr.span("POST chat", 0), tr.span("hold bash", 0), tr.span("decide bash", 0)
		tr.has(hold, "heldcall.outcome", status)
		tr.has(decide, "heldcall.outcome", outcome)
		for i := range upstreams {
			tr.child(top, tr.span("chat m", i))
		}
		if upstreams == 2 {
			tr.has(tr.span("chat m", 1), "heldcall.continuation", "1", "gen_ai.request.model", "m")
		}
		if want := upstreams + 3; len(tr.spans) != want {
			t.Errorf("%s: %d spans, want %d", outcome, len(tr.spans), want)
		}
	}
	f(approvals.ActionDeny, nil, "denied", "denied_by_person", 2)
	f(approvals.ActionModifyArgs, json.RawMessage(`{"command":"ls"}`), "approved", "modified", 1)
	f(approvals.ActionAbortRun, nil, "cancelled", "aborted", 1)
	f("", nil, "expired", "expired", 2)
}

func TestTraceOfCallsThatNobodyIsAskedAbout(t *testing.T) {
	for policy, outcome := range map[string]string{
		"rules:\n  - allow: [\"bash(ls *)\"]\n": "allowed_by_rule",
		allowAll:                                "allowed_by_rule",
		denyAll:                                 "denied_by_rule",
	} {
		spans := receive(t)
		w := build(t, policy, callThenText, spans.on)
		w.post("/v1/chat/completions", streamedRequest).rest()
		tr := spans.trace(w)
		decide := tr.span("decide bash", 0)
		tr.child(tr.span("POST chat", 0), decide)
		tr.has(decide, "heldcall.outcome", outcome, "heldcall.reviewer", "")
	}
}

func TestTraceHoldsArgumentsWhereTheyAreAskedFor(t *testing.T) {
	const key = "sk-secret-of-the-upstream"
	spans := receive(t)
	script := func(r *fakemodel.Request) fakemodel.Reply {
		call := fakemodel.Call{ID: "c", Name: "bash", Arguments: `{"command":"echo ` + key + `"}`}
		return fakemodel.Answer{ID: "x", Calls: []fakemodel.Call{call}, Fragment: 1 << 20}.Reply(r) // in pieces the key is refused
	}
	w := build(t, allowAll, script, spans.on, func(c *app.Config) {
		c.Tracing.Arguments, c.Proxy.Upstreams[0].APIKey = true, key
	})
	w.post("/v1/chat/completions", streamedRequest).rest()
	tr := spans.trace(w)
	tr.has(tr.span("decide bash", 0), "gen_ai.tool.call.arguments", `{"command":"echo [upstream key]"}`)
}

func TestTraceOfAHoldWithoutItsAgent(t *testing.T) {
	f := func(end func(*world, *call, approvals.Request), outcome, reason, request string) {
		t.Helper()
		spans := receive(t)
		w := build(t, askAll, callThenText, spans.on)
		c := w.post("/v1/chat/completions", streamedRequest)
		end(w, c, w.pending(1)[0])
		tr := spans.trace(w)
		tr.has(tr.span("hold bash", 0), "heldcall.outcome", outcome, "heldcall.cancel_reason", reason)
		tr.has(tr.span("POST chat", 0), "heldcall.outcome", request)
	}
	f(func(w *world, c *call, r approvals.Request) {
		c.cancel()
		w.agent(r.ID, approvals.AgentDetached)
	}, "left_pending", "", "agent_gone")
	f(func(*world, *call, approvals.Request) {}, "left_pending", "", "interrupted") // heldcall stops
}

// Without tracing nothing is sent, whatever the environment sets, and the agent's trace
// context passes unchanged.
func TestWithoutTracingContextPassesUnchanged(t *testing.T) {
	spans := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", spans.server.URL)
	w := build(t, allowAll, callThenText)
	header := []string{"traceparent", "not-" + agentParent, "TraceParent", agentParent, "tracestate", "a=1", "tracestate", "b=2", "baggage", "k=v"}
	w.post("/v1/chat/completions", streamedRequest, header...).rest()
	got := w.upstream.Requests()[0]
	for name, want := range map[string]string{"traceparent": "not-" + agentParent + "," + agentParent, "tracestate": "a=1,b=2", "baggage": "k=v"} {
		if passed := strings.Join(got.Values(name), ","); passed != want {
			t.Errorf("%s is %q, want %q", name, passed, want)
		}
	}
	if tr := spans.trace(w); len(tr.spans) > 0 {
		t.Errorf("%d spans were sent", len(tr.spans))
	}
}

func TestTraceContextOfAgents(t *testing.T) {
	spans := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", spans.server.URL) // heard where the file names none
	w := build(t, allowAll, callThenText, func(c *app.Config) { c.Tracing.Enabled = true })
	sent := func(header ...string) *fakemodel.Request {
		w.post("/v1/chat/completions", streamedRequest, header...).rest()
		all := w.upstream.Requests()
		return all[len(all)-1]
	}
	valid := regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$`)
	for _, header := range [][]string{
		{},
		{"tracestate", "a=1"},
		{"traceparent", "00-" + agentTrace + "-" + agentSpan, "tracestate", "a=1"},
		{"traceparent", agentParent, "traceparent", agentParent, "tracestate", "a=1"},
	} {
		got := sent(header...)
		if parent := got.Get("traceparent"); !valid.MatchString(parent) || strings.Contains(parent, agentTrace) || got.Get("tracestate") != "" {
			t.Errorf("with %q upstream gets %q and %q, want a new trace", header, got.Values("traceparent"), got.Values("tracestate"))
		}
	}
	got := sent("traceparent", strings.TrimSuffix(agentParent, "1")+"0", "baggage", "k=v")
	if parent := got.Get("traceparent"); !strings.HasPrefix(parent, "00-"+agentTrace) || !strings.HasSuffix(parent, "-00") || got.Get("baggage") != "k=v" {
		t.Errorf("of a trace that is not sampled upstream gets %q", parent)
	}
	for _, s := range spans.trace(w).spans {
		if hex.EncodeToString(s.TraceId) == agentTrace {
			t.Errorf("%q is of a trace that is not sampled", s.Name)
		}
	}
}

func TestTraceOfRequestsWithoutAnAnswer(t *testing.T) {
	spans := receive(t)
	w := build(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply {
		if strings.HasSuffix(r.Path, "/embeddings") {
			return fakemodel.Whole(http.StatusTooManyRequests, []byte(`"slow down"`))
		}
		return fakemodel.Whole(http.StatusOK, []byte("{"))
	}, spans.on)
	w.post("/v1/chat/completions", wholeRequest).rest()
	w.post("/v1/embeddings", `{"input":"do it"}`).rest()
	w.post("/v1/realtime", `{}`).rest()
	tr := spans.trace(w)
	top := tr.span("POST chat", 0)
	tr.has(top, "error.type", "answer_not_understood", "heldcall.outcome", "failed", "http.response.status_code", "502")
	if top.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("the status of a failed answer is %v", top.Status)
	}
	tr.child(tr.span("POST ungated", 0), tr.span("POST ungated", 1))
	tr.has(tr.span("POST ungated", 0), "http.response.status_code", "429", "heldcall.outcome", "ungated")
	tr.has(tr.span("POST ungated", 1), "error.type", "429", "gen_ai.operation.name", "")
	tr.has(tr.span("POST refused", 0), "error.type", "route_not_gated", "http.response.status_code", "501")
}

// A receiver that is gone delays neither an answer nor the end.
func TestTracingWithoutAReceiver(t *testing.T) {
	addresses, err := fakemodel.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "10")
	w := build(t, allowAll, callThenText, func(c *app.Config) {
		c.Tracing.Enabled, c.Tracing.Endpoint = true, "http://"+addresses[0]
	})
	if got := w.post("/v1/chat/completions", streamedRequest).rest(); !strings.Contains(got, "call_sesame") {
		t.Errorf("the agent got %q", got)
	}
	failed := regexp.MustCompile(`heldcall_trace_spans_total\{result="failed"\} [1-9]`)
	for deadline := time.Now().Add(soon); !failed.MatchString(w.get(w.app.ConsoleURL() + "/metrics")); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no span that could not be sent is counted")
		}
	}
	if err := w.stop(); err != nil {
		t.Errorf("heldcall ended with: %v", err)
	}
	if got := strings.Count(w.log.String(), "spans cannot be sent"); got != 1 {
		t.Errorf("the log has it %d times", got)
	}
}
