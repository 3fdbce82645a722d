package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// TestCallsOfCarriers: the calls in a script or a dispatcher are judged one by one. Calls that are not
// certain are judged as one of the carrier.
func TestCallsOfCarriers(t *testing.T) {
	const rules = "rules:\n  - allow: ['shell(ls:*)']\n  - deny: ['shell(rm *)']\n"
	const subagents = rules + "  - deny: ['shell(*)']\n    when: subagent == '/root/look'\n"
	code := func(script string) intercept.Call {
		return intercept.Call{Name: "exec", Arguments: script, FreeText: true}
	}
	run := func(commands ...string) intercept.Call {
		var script strings.Builder
		for _, one := range commands {
			script.WriteString("await tools.exec_command({cmd: '" + one + "'});\n")
		}
		return code(script.String())
	}
	for _, tt := range []struct {
		name, policy string
		call         intercept.Call
		want         policy.Action
		commands     []string // that a reviewer is shown
	}{
		{"all allowed", rules, run("ls", "ls -la"), policy.Allow, nil},
		{"one asked about", rules, run("ls", "make"), policy.Ask, []string{"exec_command ls", "exec_command make"}},
		{"one denied", rules, run("ls", "rm -rf x"), policy.Deny, nil},
		{"a script that is not read", rules, code("for (;;) await tools.exec_command({cmd: 'ls'})"), policy.Ask, nil},
		{"a denial that is not read, allowed by name", rules + "  - allow: [exec]\n", code("if (x) await tools.exec_command({cmd: 'rm a'})"), policy.Allow, nil},
		{"allowed by name", rules + "  - allow: [exec]\n", run("make"), policy.Allow, nil},
		{"allowed by name, one denied", rules + "  - allow: [exec]\n", run("rm a"), policy.Deny, nil},
		{"asked about by name", rules + "  - ask: [exec]\n", run("ls"), policy.Ask, []string{"exec_command ls"}},
		{"denied by name", rules + "  - deny: [exec]\n", run("ls"), policy.Deny, nil},
		{"allowed by default, one denied", "default: allow\n" + rules, run("rm a"), policy.Deny, nil},
		{"denied by default", "default: deny\n" + rules, run("ls"), policy.Allow, nil},
		{"denied by default, not read", "default: deny\n" + rules, code("x"), policy.Deny, nil},
		{"an argument that is forbidden", rules + "  - deny: ['*(*hush*)']\n    match: arguments\n", run("ls hush"), policy.Deny, nil},
		{"an ambiguous script", rules, intercept.Call{Name: "exec", Arguments: "await tools.exec_command({cmd: 'ls'})", FreeText: true, Ambiguous: []string{"Cut off."}}, policy.Ask, []string{"exec_command ls"}},
		{"a dispatcher", rules, intercept.Call{Name: "tool_call", Arguments: `{"name":"bash","arguments":{"command":"ls"}}`}, policy.Allow, nil},
		{"a dispatcher of a denied call", rules, intercept.Call{Name: "tool_call", Arguments: `{"name":"bash","arguments":{"command":"rm a"}}`}, policy.Deny, nil},
		{"a dispatcher of one agent at the provider", subagents, intercept.Call{Name: "tool_call", Arguments: `{"name":"bash","arguments":{"command":"ls"}}`, Subagent: "/root/look"}, policy.Deny, nil},
		{"a script of one agent at the provider", subagents, intercept.Call{Name: "exec", Arguments: "await tools.exec_command({cmd: 'ls'})", FreeText: true, Subagent: "/root/look"}, policy.Deny, nil},
		{"a script of another", subagents, intercept.Call{Name: "exec", Arguments: "await tools.exec_command({cmd: 'ls'})", FreeText: true, Subagent: "/root"}, policy.Allow, nil},
		{"a dispatcher that is not read", rules, intercept.Call{Name: "tool_call", Arguments: `{"name":"bash","arguments":{"command":"ls"},"then":"rm"}`}, policy.Ask, nil},
	} {
		p, err := policy.Parse("policy.yaml", []byte(tt.policy))
		if err != nil {
			t.Fatal(err)
		}
		v := judge.NewRules(p).Verdict(judge.Origin{}, tt.call)
		if v.Action != tt.want || !slices.Equal(v.Commands, tt.commands) {
			t.Errorf("%s: %s by %s (%s) of %q, want %s of %q", tt.name, v.Action, v.Rule, v.Reason, v.Commands, tt.want, tt.commands)
		}
		if tt.commands != nil && (v.AllowRemember || len(v.Suggested) > 0) {
			t.Errorf("%s: a grant is suggested: %q", tt.name, v.Suggested)
		}
	}
}

// TestPossibleCalls: a deny rule holds for a call that agents may find in a wrapper, also where it is not certain.
func TestPossibleCalls(t *testing.T) {
	const rules = "default: allow\nrules:\n  - deny: ['bash(rm *)', 'mcp__github__delete_*']\n  - ask: [transfer]\n"
	named := rules + "  - allow: [call_tool, batch, multi_tool_use.parallel]\n"
	for name, tt := range map[string]struct {
		policy, tool, arguments string
		want                    policy.Action
	}{
		"a prefix":              {named, "call_tool", `{"name":"functions.bash","arguments":{"command":"rm x"}}`, policy.Deny},
		"a prefix, harmless":    {named, "call_tool", `{"name":"functions.bash","arguments":{"command":"ls"}}`, policy.Allow},
		"a number":              {rules, "call_tool", `{"name":"bash:0","arguments":{"command":"rm x"}}`, policy.Deny},
		"a blank":               {named, "batch", `{"tool_calls":[{"tool":"bash ","parameters":{"command":"rm x"}}]}`, policy.Deny},
		"a field more":          {named, "call_tool", `{"name":"bash","arguments":{"command":"rm x"},"why":"y"}`, policy.Deny},
		"two names":             {named, "call_tool", `{"name":"read","tool":"bash","arguments":{"command":"rm x"}}`, policy.Deny},
		"text":                  {named, "call_tool", `{"name":"bash","arguments":"rm x"}`, policy.Deny},
		"JSON in a text":        {named, "call_tool", `{"name":"bash","arguments":"{\"command\":\"rm x\"}","why":"y"}`, policy.Deny},
		"wrappers in a wrapper": {named, "batch", `{"tool_calls":[{"tool":"call_tool","parameters":{"name":"Bash","arguments":{"command":"rm x"}}}]}`, policy.Deny},
		"one of several":        {named, "batch", `{"tool_calls":[{"tool":"read","parameters":{}},{},{"tool":"bash","parameters":{"command":"rm x"}}]}`, policy.Deny},
		"parallel":              {named, "multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"default_api.bash","parameters":{"command":"rm x"}}]}`, policy.Deny},
		"parallel, harmless":    {named, "multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"default_api.bash","parameters":{"command":"ls"}}]}`, policy.Ask},
		"MCP":                   {rules, "call_tool", `{"name":"functions.mcp__github__deleteRepo","arguments":{}}`, policy.Deny},
		"asked about":           {rules, "call_tool", `{"name":"functions.transfer","arguments":{}}`, policy.Ask},
		"asked about, by name":  {named, "call_tool", `{"name":"functions.transfer","arguments":{}}`, policy.Allow},
		"of another tool":       {rules, "search", `{"name":"bash","arguments":{"command":"rm x"}}`, policy.Allow},
		"too many":              {rules, "batch", `{"calls":[` + strings.Repeat(`{"tool":"x.y","input":{}},`, 60) + `{"tool":"bash","input":{"command":"rm x"}}]}`, policy.Ask},
	} {
		p, err := policy.Parse("policy.yaml", []byte(tt.policy))
		if err != nil {
			t.Fatal(err)
		}
		if v := judge.NewRules(p).Verdict(judge.Origin{}, intercept.Call{Name: tt.tool, Arguments: tt.arguments}); v.Action != tt.want {
			t.Errorf("%s: %s by %s (%s), want %s", name, v.Action, v.Rule, v.Reason, tt.want)
		}
	}
}
