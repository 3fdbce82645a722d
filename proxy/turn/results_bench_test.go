package turn

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/results"
)

// judgesNothing are rules without rules about results.
var judgesNothing = judge.NewRules(policy.Default())

// BenchmarkResults prepares a request whose history has 200 KB and 400 results, which were
// judged before, by a policy with rules about results and by one without.
func BenchmarkResults(b *testing.B) {
	p, err := policy.Parse("policy.yaml", []byte("results:\n  - redact: ['*']\n    contains: [secrets, ticket-7]\n  - deny: [read]\n    contains: [ignore all]\ntaint: [web_fetch]\n"))
	if err != nil {
		b.Fatal(err)
	}
	var body strings.Builder
	body.WriteString(`{"model":"m","messages":[{"role":"user","content":"do it"}`)
	for i := range 400 {
		fmt.Fprintf(&body, `,{"role":"assistant","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_%d","content":"%s ticket-%d"}`,
			i, i, strings.Repeat("x", 330), i)
	}
	body.WriteString("]}")
	for name, rules := range map[string]*judge.Rules{"judged": judge.NewRules(p), "without": judgesNothing} {
		b.Run(name, func(b *testing.B) {
			e := &Engine{Options: Options{Gate: Stateless{}, Judge: func(string) Judge { return rules }}}
			e.Conversations = conversation.Shared{Store: Stateless{}, Runs: Stateless{}}
			b.SetBytes(int64(body.Len()))
			for b.Loop() {
				prepareResults(b, e, body.String())
			}
		})
	}
}

// prepareResults reads a request and judges its results.
func prepareResults(tb testing.TB, e *Engine, body string) []byte {
	t := &Turn{engine: e, request: &Request{Dialect: chat.Dialect{}, Envelope: intercept.Envelope{Body: []byte(body)}}}
	t.conversation.Init(&e.Conversations, t.request)
	t.results = results.Results{Conversation: &t.conversation}
	if refusal := t.conversation.Begin(context.Background()); refusal != nil {
		tb.Fatal(refusal)
	}
	if refusal := t.results.Judge(context.Background(), e.Judge("")); refusal != nil {
		tb.Fatal(refusal)
	}
	if refusal := t.results.Settle(context.Background()); refusal != nil {
		tb.Fatal(refusal)
	}
	return t.conversation.Parsed.Envelope().Body
}
