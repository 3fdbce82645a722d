package trace

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// described is the name of a span and its attributes, as key=value.
func described(span sdk.ReadOnlySpan) string {
	parts := []string{span.Name()}
	for _, a := range span.Attributes() {
		parts = append(parts, string(a.Key)+"="+a.Value.String())
	}
	if span.Status().Code == codes.Error {
		parts = append(parts, "failed")
	}
	return strings.Join(parts, " ")
}

// The spans of a call: held, decided by people or by rules.
func TestSpansOfCalls(t *testing.T) {
	bash := intercept.Call{ID: "call_1", Name: "bash", Arguments: `{"a":1}`}
	person := approvals.Decision{ReviewerID: "ann", Channel: "web", Action: approvals.ActionApprove, DecidedAt: time.Unix(2, 0)}
	const bashSpan = "gen_ai.tool.name=bash gen_ai.tool.call.id=call_1"
	const held = "hold bash heldcall.request.id=r1 heldcall.rule=rules[0] heldcall.risk= " + bashSpan
	for name, tt := range map[string]struct {
		arguments bool
		make      func(s *Spans)
		want      string
	}{
		"approved": {make: func(s *Spans) {
			s.Asked([]approvals.Request{{ID: "r1", Rule: "rules[0]"}}, []intercept.Call{bash})
			s.Answered([]approvals.Request{{Status: approvals.StatusApproved}})
			s.Decided([]Decision{{Call: bash, Outcome: approvals.OutcomeAllowedByPerson, Verdict: policy.Ask, By: person}}, time.Unix(3, 0), nil)
		}, want: held + " heldcall.outcome=approved; decide bash heldcall.outcome=allowed_by_person heldcall.verdict=ask heldcall.rule= heldcall.reviewer=ann heldcall.channel=web heldcall.action=approve " + bashSpan},
		"cancelled": {make: func(s *Spans) {
			s.Asked([]approvals.Request{{ID: "r1", Rule: "rules[0]"}}, []intercept.Call{bash})
			s.Abandoned("cancelled", "agent_gone")
		}, want: held + " heldcall.outcome=cancelled heldcall.cancel_reason=agent_gone"},
		"allowed by a rule, with arguments": {arguments: true, make: func(s *Spans) {
			s.Decided([]Decision{{Call: bash, Held: -1, Outcome: approvals.OutcomeAllowedByRule, Verdict: policy.Allow, Rule: "rules[1]"}}, time.Now(), nil)
		}, want: "decide bash heldcall.outcome=allowed_by_rule heldcall.verdict=allow heldcall.rule=rules[1] " + bashSpan + ` gen_ai.tool.call.arguments={"a":1}`},
		"not recorded": {make: func(s *Spans) {
			s.Decided([]Decision{{Held: -1, Outcome: approvals.OutcomeDeniedByRule, Verdict: policy.Deny}}, time.Now(), errors.New("down"))
		}, want: "decide heldcall.outcome=denied_by_rule heldcall.verdict=deny heldcall.rule= gen_ai.tool.name= error.type=store_unavailable failed"},
	} {
		t.Run(name, func(t *testing.T) {
			o, ended := recorder()
			o.Arguments = tt.arguments
			tt.make(Begin(o, Request{Method: http.MethodPost, Route: "chat"}))
			var spans []string
			for _, span := range ended.Ended() {
				spans = append(spans, described(span))
			}
			if got := strings.Join(spans, "; "); got != tt.want {
				t.Errorf("spans\n%s; want\n%s", got, tt.want)
			}
		})
	}
}

// A decision begins when the people decided, or with the review where that is earlier.
func TestDecisionsBeginWithTheAnswer(t *testing.T) {
	for name, tt := range map[string]struct{ decided, want time.Time }{
		"by rules":              {want: time.Unix(5, 0)},
		"by people":             {decided: time.Unix(3, 0), want: time.Unix(3, 0)},
		"by a clock in advance": {decided: time.Unix(9, 0), want: time.Unix(5, 0)},
	} {
		o, ended := recorder()
		s := Begin(o, Request{})
		s.Decided([]Decision{{Held: -1, By: approvals.Decision{DecidedAt: tt.decided}}}, time.Unix(5, 0), nil)
		if got := ended.Ended()[0].StartTime(); !got.Equal(tt.want) {
			t.Errorf("%s: from %v, want %v", name, got, tt.want)
		}
	}
}

// The span of the request has its principal, and the end of the answer.
func TestSpanOfARequest(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(s *Spans)
		end  string // outcome
		want string // the end of the request's span
	}{
		"passed": {make: func(s *Spans) {
			s.Identified("s1", "r1", approvals.Principal{Tenant: "acme", User: "u", Agent: "a"})
		}, end: "passed", want: "gen_ai.conversation.id=s1 heldcall.run.id=r1 heldcall.tenant=acme heldcall.user=u gen_ai.agent.name=a http.response.status_code=200 heldcall.outcome=passed"},
		"refused":    {make: func(s *Spans) { s.Failed(&intercept.Error{Code: intercept.CodeBadRequest}) }, want: "error.type=bad_request http.response.status_code=200"},
		"unanswered": {make: func(s *Spans) { s.Failed(&intercept.Error{Code: intercept.CodeUpstreamCut}) }, end: "failed", want: "error.type=upstream_cut http.response.status_code=200 heldcall.outcome=failed failed"},
	} {
		t.Run(name, func(t *testing.T) {
			o, ended := recorder()
			s := Begin(o, Request{Method: http.MethodPost, Route: "chat"})
			tt.make(s)
			s.End(http.StatusOK, tt.end)
			if got := described(ended.Ended()[0]); !strings.HasSuffix(got, tt.want) {
				t.Errorf("got %s; want %s", got, tt.want)
			}
		})
	}
}

// The span of an upstream request has the status, and the time of the first block of a
// stream.
func TestSpanOfAnUpstreamRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		cut    string
		want   string
	}{
		"answered":  {status: http.StatusOK, want: "http.response.status_code=200 gen_ai.response.time_to_first_chunk="},
		"an error":  {status: http.StatusTooManyRequests, want: "http.response.status_code=429 error.type=429 gen_ai.response.time_to_first_chunk="},
		"cut":       {status: http.StatusOK, cut: "failed", want: "error.type=failed"},
		"abandoned": {status: http.StatusOK, cut: "agent_gone", want: "error.type=agent_gone"},
	} {
		t.Run(name, func(t *testing.T) {
			o, ended := recorder()
			s := Begin(o, Request{})
			s.UpstreamRequest(UpstreamRequest{Envelope: intercept.Envelope{Method: http.MethodPost}, Dialect: "chat", Streamed: true})
			s.UpstreamHead(tt.status)
			s.UpstreamBody()
			s.UpstreamBody()
			s.UpstreamEnded(tt.cut)
			s.UpstreamEnded("")
			span := ended.Ended()[0]
			got := described(span)
			failed := tt.status != http.StatusOK || tt.cut != ""
			if !strings.Contains(got, tt.want) || strings.Count(got, "first_chunk") != 1 || (span.Status().Code == codes.Error) != failed {
				t.Errorf("got %s; want %s", got, tt.want)
			}
		})
	}
}

// Providers are found by the host, not by a name that only ends like one.
func TestProvider(t *testing.T) {
	for _, tt := range []struct{ host, dialect, want string }{
		{"api.anthropic.com", "chat", "anthropic"},
		{"NAME.openai.AZURE.com", "chat", "azure.ai.openai"},
		{"notanthropic.com", "chat", "openai"},
		{"localhost", "messages", "anthropic"},
		{"x.ai", "chat", "x_ai"},
		{"localhost", "responses", "openai"},
	} {
		if got := provider(tt.host, tt.dialect).Value.AsString(); got != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.host, tt.dialect, got, tt.want)
		}
	}
}
