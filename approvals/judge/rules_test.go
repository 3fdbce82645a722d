package judge_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

func newRules(t *testing.T, rules string) *judge.Rules {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	return judge.NewRules(p)
}

// wrapping is a call that wraps others.
func wrapping(calls ...intercept.Call) intercept.Call {
	var uses []string
	for _, c := range calls {
		uses = append(uses, `{"recipient_name":"functions.`+c.Name+`","parameters":`+c.Arguments+`}`)
	}
	return intercept.Call{Name: "multi_tool_use.parallel", Arguments: `{"tool_uses":[` + strings.Join(uses, ",") + `]}`}
}

func TestVerdict(t *testing.T) {
	c := newRules(t, `
default: deny
tools: {bash: {resource: command, as: shell}}
hosted_tools: ["mcp:listed"]
rules:
  - allow: ["bash(ls *)", "mcp_tool"]
  - ask: ["bash(rm *)"]
  - ask: ["multi_tool_use.*"]
  - rewrite: ["bash(ls x)"]
    set: {timeout: 1}
`)
	hosted := func(server string) intercept.Call {
		return intercept.Call{Name: "mcp_tool", Arguments: `{}`, Hosted: server, ReadOnly: true}
	}
	for name, tt := range map[string]struct {
		call intercept.Call
		want policy.Action
		flag string // that the reviewer reads
	}{
		"allowed":                {bash("ls y"), policy.Allow, ""},
		"asked about":            {bash("rm x"), policy.Ask, ""},
		"denied":                 {bash("make"), policy.Deny, ""},
		"in doubt":               {intercept.Call{Name: "bash", Arguments: `{"command":"ls y"}`, Ambiguous: []string{"Two names."}}, policy.Deny, "Two names."},
		"wraps an allowed call":  {wrapping(bash("ls y")), policy.Allow, "It wraps a call;"},
		"wraps one to ask about": {wrapping(bash("ls y"), bash("rm x")), policy.Ask, "It wraps 2 calls"},
		"wraps a denied one":     {wrapping(bash("rm x"), bash("make")), policy.Deny, "It wraps 2 calls"},
		"wraps one to rewrite":   {wrapping(bash("ls x")), policy.Ask, "It wraps a call;"},
		"wraps an empty call":    {intercept.Call{Name: "multi_tool_use.parallel", Arguments: `{"tool_uses":[{}]}`}, policy.Ask, "cannot be read with certainty"},
		"at a listed server":     {hosted("mcp:listed"), policy.Allow, ""},
		"at another server":      {hosted("mcp:other"), policy.Deny, "hosted_tools does not list mcp:other"},
	} {
		v := c.Verdict(judge.Origin{}, tt.call)
		if flags := strings.Join(v.Flags, " "); v.Action != tt.want || !strings.Contains(flags, tt.flag) {
			t.Errorf("%s: %s by %s, flags %q; want %s, %q", name, v.Action, v.Rule, flags, tt.want, tt.flag)
		}
		if len(tt.call.Ambiguous) > 1 {
			t.Errorf("%s: the call itself was changed: %q", name, tt.call.Ambiguous)
		}
	}
}

// TestJudgeCountsLimits: a call counts for limits until its charge is returned. Each wrapped
// call counts. A call that a person has denied before does not.
func TestJudgeCountsLimits(t *testing.T) {
	c := newRules(t, "default: ask\nrules:\n  - allow: [read]\n    limit: {per_run: 2, then: deny}\n")
	from := judge.Origin{Run: "r", At: noon}
	read := intercept.Call{Name: "read", Arguments: `{"path":"x"}`}
	judged := func(c *judge.Rules, from judge.Origin, call intercept.Call, denied map[string]string) judge.Case {
		one, err := c.Judge(t.Context(), from, call, denied)
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	again := judged(c, from, read, map[string]string{judge.Key(read): "no"})
	if !again.DeniedBefore || again.Note != "no" || again.Verdict.Action != policy.Allow {
		t.Errorf("denied before: %+v", again)
	}
	first := judged(c, from, read, map[string]string{"another": "no"})
	if first.DeniedBefore || first.Verdict.Action != policy.Allow {
		t.Errorf("the first call: %s, denied before: %t", first.Verdict.Action, first.DeniedBefore)
	}
	if both := judged(c, from, wrapping(read, read), nil); both.Verdict.Action != policy.Deny {
		t.Errorf("two calls, one above the limit: %s", both.Verdict.Action)
	}
	if v := c.Verdict(from, read); v.Action != policy.Allow {
		t.Errorf("a verdict was counted: %s", v.Action)
	}
	second := judged(c, from, read, nil)
	third := judged(c, from, read, nil)
	second.Charge.Return()
	fourth := judged(c, from, read, nil)
	if second.Verdict.Action != policy.Allow || third.Verdict.Action != policy.Deny || fourth.Verdict.Action != policy.Allow {
		t.Errorf("the second %s, the third %s, after the return of the second %s", second.Verdict.Action, third.Verdict.Action, fourth.Verdict.Action)
	}
}
