package judge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/messages"
	"github.com/heldcall/heldcall/intercept/responses"
)

// offering is the offer of a request with tools, and perhaps more fields.
func offering(t *testing.T, tools, fields string) *intercept.Offer {
	t.Helper()
	r, err := responses.Dialect{}.Request(intercept.Envelope{Method: "POST", Path: "/responses", Body: []byte(`{"model":"m","input":"x","tools":[` + tools + `]` + fields + `}`)})
	if err != nil {
		t.Fatal(err)
	}
	return intercept.NewOffer(r)
}

const (
	codex       = `{"type":"custom","name":"exec","description":"Run JavaScript code to orchestrate/compose tool calls"}`
	inNamespace = `{"type":"namespace","name":"functions","tools":[` + codex + `]}`
	shellExec   = `{"type":"custom","name":"exec","description":"Runs a shell script."}`
	listing     = "await tools.exec_command({cmd: \"ls\"})"
	disguised   = "/*;touch x;*/\n" + listing
	cline       = `{"type":"function","name":"use_mcp_tool","parameters":{"type":"object","properties":{"server_name":{"type":"string"},"tool_name":{"type":"string"},"arguments":{"type":"object"}}}}`
	callsTools  = `{"type":"function","name":"call_tool","parameters":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}}}}`
	parallel    = `{"type":"function","name":"parallel","parameters":{"type":"object","properties":{"tool_uses":{"type":"array"}}}}`
	bashTool    = `{"type":"function","name":"bash","parameters":{"type":"object"}}`
)

// TestWrappersAsOffered: a wrapper is read only where the request offers it in the form that the reader is for.
func TestWrappersAsOffered(t *testing.T) {
	const rules = "rules:\n  - allow: ['shell(ls *)', 'mcp__github__*', 'bash(ls *)']\n  - deny: ['bash(rm *)', 'mcp__github__delete_repo', 'shell(rm *)']\n"
	script := func(text string) intercept.Call { return intercept.Call{Name: "exec", Arguments: text, FreeText: true} }
	mcp := func(server, tool string) intercept.Call {
		return intercept.Call{Name: "use_mcp_tool", Arguments: `{"server_name":"` + server + `","tool_name":"` + tool + `","arguments":{}}`}
	}
	uses := func(name, command string) intercept.Call {
		return intercept.Call{Name: name, Arguments: `{"tool_uses":[{"recipient_name":"functions.bash","parameters":{"command":"` + command + `"}}]}`}
	}
	dispatch := func(name, tool, command string) intercept.Call {
		return intercept.Call{Name: name, Arguments: `{"name":"` + tool + `","arguments":{"command":"` + command + `"}}`}
	}
	for name, tt := range map[string]struct {
		tools, fields string
		call          intercept.Call
		more          string // of the policy
		want          policy.Action
	}{
		"Codex":                                      {tools: codex, call: script(listing), want: policy.Allow},
		"Codex, in its namespace":                    {tools: inNamespace, call: intercept.Call{Name: "functions.exec", Arguments: listing, FreeText: true}, want: policy.Allow},
		"Codex, without the namespace":               {tools: inNamespace, call: script(listing), more: "default: allow\n", want: policy.Ask},
		"Codex, denied":                              {tools: codex, call: script(`await tools.exec_command({cmd: "rm x"})`), want: policy.Deny},
		"a shell":                                    {tools: shellExec, call: script(disguised), want: policy.Ask},
		"a shell, all allowed":                       {tools: shellExec, call: script(disguised), more: "default: allow\n", want: policy.Ask},
		"a shell, by name":                           {tools: shellExec, call: script(disguised), more: "  - allow: [exec]\n", want: policy.Ask},
		"a shell as it is, by name":                  {tools: shellExec, call: script("ls"), more: "  - allow: [exec]\n", want: policy.Allow},
		"no such tool":                               {tools: bashTool, call: script(disguised), more: "default: allow\n", want: policy.Ask},
		"no such tool, by name":                      {tools: bashTool, call: script(listing), more: "  - allow: [exec]\n", want: policy.Ask},
		"a function":                                 {tools: strings.Replace(codex, "custom", "function", 1), call: script(listing), want: policy.Ask},
		"no tools":                                   {call: script(listing), more: "default: allow\n", want: policy.Ask},
		"kept by the provider":                       {fields: `,"previous_response_id":"resp_1"`, call: script(listing), more: "default: allow\n", want: policy.Ask},
		"Codex, kept and offered":                    {tools: codex, fields: `,"previous_response_id":"resp_1"`, call: script(listing), want: policy.Allow},
		"an MCP tool":                                {tools: cline, call: mcp("github", "list_issues"), want: policy.Allow},
		"an MCP tool, denied":                        {tools: cline, call: mcp("github", "delete_repo"), want: policy.Deny},
		"an MCP tool, denied, another spelling":      {tools: cline, call: mcp("GitHub", "deleteRepo"), want: policy.Deny},
		"another server":                             {tools: cline, call: mcp("gitlab", "list_issues"), want: policy.Ask},
		"a server within the name":                   {tools: cline, call: mcp("github__evil", "x"), want: policy.Ask},
		"a server within the name, all allowed":      {tools: cline, call: mcp("github__evil", "x"), more: "default: allow\n", want: policy.Ask},
		"a server that ends in _":                    {tools: cline, call: mcp("github_", "x"), more: "default: allow\n", want: policy.Ask},
		"a server that begins with _":                {tools: cline, call: mcp("_github", "x"), more: "default: allow\n", want: policy.Ask},
		"an MCP tool that is not offered":            {tools: bashTool, call: mcp("github", "list_issues"), more: "default: allow\n", want: policy.Ask},
		"an MCP tool of another form":                {tools: strings.ReplaceAll(cline, "tool_name", "id"), call: mcp("github", "list_issues"), more: "default: allow\n", want: policy.Ask},
		"a dispatcher":                               {tools: callsTools, call: dispatch("call_tool", "bash", "ls"), want: policy.Allow},
		"a dispatcher, another spelling":             {tools: callsTools + "," + bashTool, call: dispatch("CallTool", "bash", "ls"), want: policy.Ask},
		"a dispatcher, another spelling, denied":     {tools: callsTools + "," + bashTool, call: dispatch("functions.callTool", "bash", "rm x"), more: "default: allow\n", want: policy.Deny},
		"a dispatcher of another spelling, denied":   {tools: callsTools + "," + bashTool, call: dispatch("call_tool", "Bash", "rm x"), more: "default: allow\n", want: policy.Deny},
		"a dispatcher of another form":               {tools: strings.ReplaceAll(callsTools, `"name":{`, `"id":{`), call: dispatch("call_tool", "bash", "ls"), more: "default: allow\n", want: policy.Ask},
		"a tool of the agent's own with that name":   {tools: strings.ReplaceAll(callsTools, `"name":{`, `"id":{`), call: intercept.Call{Name: "call_tool", Arguments: `{"id":"x"}`}, more: "default: allow\n", want: policy.Allow},
		"parallel, offered":                          {tools: parallel + "," + bashTool, call: uses("parallel", "ls"), want: policy.Allow},
		"parallel, not offered":                      {tools: bashTool, call: uses("multi_tool_use.parallel", "ls"), more: "default: allow\n", want: policy.Ask},
		"parallel, not offered, denied":              {tools: bashTool, call: uses("multi_tool_use.parallel", "rm x"), more: "default: allow\n", want: policy.Deny},
		"parallel, not offered, denied by default":   {tools: bashTool, call: uses("multi_tool_use.parallel", "ls"), more: "default: deny\n", want: policy.Deny},
		"parallel, of a tool that is not offered":    {tools: parallel, call: uses("parallel", "ls"), more: "default: allow\n", want: policy.Ask},
		"parallel, not offered, of another spelling": {tools: bashTool, call: uses("Multi_Tool_Use.Parallel", "rm x"), more: "default: allow\n", want: policy.Deny},
	} {
		text := rules
		if strings.HasPrefix(tt.more, "default") {
			text = tt.more + text
		} else {
			text += tt.more
		}
		from := judge.Origin{Offer: offering(t, tt.tools, tt.fields)}
		c := newRules(t, text)
		if v := c.Verdict(from, tt.call); v.Action != tt.want {
			t.Errorf("%s: %s by %s (%s), flags %q; want %s", name, v.Action, v.Rule, v.Reason, v.Flags, tt.want)
		}
	}
}

// TestAllowsAnyAsOffered: only a tool that the request offers by this name is allowed whatever its arguments.
func TestAllowsAnyAsOffered(t *testing.T) {
	const doubtful = `{"command":"ls","n":9e-99}`
	c := newRules(t, "default: ask\nrules:\n  - allow: [read, Read, Bash, bash, 'mcp__*']\n  - deny: ['Bash(rm *)']\n")
	for name, want := range map[string]bool{"read": true, "Read": false, "Bash": false, "bash": true, "functions.read": false, "mcp__github__x": false} {
		from := judge.Origin{Offer: offering(t, bashTool+`,{"type":"function","name":"read"}`, "")}
		if v := c.Verdict(from, intercept.Call{Name: name, Arguments: doubtful}); (v.Action == policy.Allow) != want {
			t.Errorf("%s: %s", name, v.Action)
		}
	}
	// Without an offer a deny rule for a name that agents mend stops it.
	for name, want := range map[string]bool{"read": true, "bash": false, "mcp__github__x": true} {
		for _, from := range []judge.Origin{{}, {Offer: offering(t, "", `,"previous_response_id":"resp_1"`)}} {
			if v := c.Verdict(from, intercept.Call{Name: name, Arguments: doubtful}); (v.Action == policy.Allow) != want {
				t.Errorf("%s, offer %v: %s", name, from.Offer != nil, v.Action)
			}
		}
	}
}

// TestToolsets: which tools a toolset has is not known. Their names are judged as they are written, deny and ask rules hold
// for misspellings of them, and the toolset is part of the name.
func TestToolsets(t *testing.T) {
	r, err := messages.Dialect{}.Request(intercept.Envelope{Method: "POST", Path: "/messages", Body: []byte(
		`{"model":"m","max_tokens":9,"messages":[],"tools":[{"type":"computer_toolset_20260801"},{"name":"scroll","input_schema":{}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	from := judge.Origin{Offer: intercept.NewOffer(r)}
	c := newRules(t, "default: allow\nrules:\n  - deny: [computer.type, scroll, 'computer.delete_*']\n  - ask: [computer.key_press]\n")
	for name, want := range map[string]policy.Action{
		"computer.type": policy.Deny, "computer.Type": policy.Deny, "computer.type_tool": policy.Deny, "computer.type:0": policy.Deny, "Computer.type": policy.Deny, "functions.computer.type": policy.Deny,
		"computer.deleteAll": policy.Deny, "computer.KeyPress": policy.Ask, "computer.left_click": policy.Allow,
		"scroll": policy.Deny, "Scroll": policy.Deny, "computer.scroll": policy.Allow, "browser.left_click": policy.Ask,
	} {
		if v := c.Verdict(from, intercept.Call{Name: name, Arguments: `{}`}); v.Action != want {
			t.Errorf("%s: %s by %s (%s), want %s", name, v.Action, v.Rule, v.Reason, want)
		}
	}
}

// TestNoOffer: where a call is judged without a request, deny and ask rules hold for names that agents mend, and nothing else
// changes.
func TestNoOffer(t *testing.T) {
	c := newRules(t, "default: allow\ntools:\n  bash: {resource: command, as: shell}\nrules:\n  - deny: ['bash(rm -rf *)', delete_repo, 'mcp__github__*']\n  - ask: ['transfer(*)']\n    when: args.amount > 10\n")
	for call, want := range map[string]policy.Action{
		`Bash {"command":"ls"}`: policy.Allow, `Bash {"command":"rm -rf /"}`: policy.Deny, `BASH {"command":"rm -rf /"}`: policy.Deny, `mcp__bash {"command":"rm -rf /"}`: policy.Deny,
		`deleteRepo {}`: policy.Deny, `functions.delete_repo {}`: policy.Deny, `remove_repo {}`: policy.Allow, `MCP__GitHub__x {}`: policy.Deny, `mcp__git__x {}`: policy.Allow,
		`Transfer {"amount":9}`: policy.Allow, `Transfer {"amount":11}`: policy.Ask, `mcp__shop__delete_repo {}`: policy.Allow,
	} {
		name, arguments, _ := strings.Cut(call, " ")
		if v := c.Verdict(judge.Origin{}, intercept.Call{Name: name, Arguments: arguments}); v.Action != want {
			t.Errorf("%s: %s by %s (%s), want %s", call, v.Action, v.Rule, v.Reason, want)
		}
	}
}

// TestGrantsOfUnofferedNames: neither a grant for the very name nor one for all names allows a tool that is not offered; one that
// denies the offered tool holds.
func TestGrantsOfUnofferedNames(t *testing.T) {
	for _, tt := range []struct {
		effect  approvals.GrantEffect
		pattern string
		want    policy.Action
	}{
		{approvals.GrantAllow, "Bash", policy.Ask},
		{approvals.GrantAllow, "bash", policy.Ask},
		{approvals.GrantAllow, "Bash(ls *)", policy.Ask},
		{approvals.GrantAllow, "b*", policy.Ask},
		{approvals.GrantDeny, "bash(ls *)", policy.Deny},
		{approvals.GrantDeny, "Bash", policy.Deny},
		{approvals.GrantDeny, "ba*", policy.Deny},
		{approvals.GrantDeny, "other", policy.Ask},
	} {
		j := newJudge(t, files{"policy.yaml": "default: ask\n"}, judge.Options{File: "policy.yaml"})
		j.KeepGrant(approvals.Grant{ID: "g", Effect: tt.effect, Scope: approvals.GrantUser, Principal: ann, Patterns: []string{tt.pattern}, GrantedBy: "eve"})
		j.LoadGrants()
		from := judge.Origin{Principal: ann, Offer: offering(t, bashTool, "")}
		if v := j.For("", "").Verdict(from, intercept.Call{Name: "Bash", Arguments: `{"command":"ls"}`}); v.Action != tt.want {
			t.Errorf("%s of %s: %s by %s, want %s", tt.effect, tt.pattern, v.Action, v.Rule, tt.want)
		}
	}
}

// TestUnofferedIsRecorded: a call that is judged again from its record is in doubt too.
func TestUnofferedIsRecorded(t *testing.T) {
	c := newRules(t, "default: allow\n")
	v := c.Verdict(judge.Origin{Offer: offering(t, bashTool, "")}, intercept.Call{Name: "Bash", Arguments: `{}`})
	if v.Unoffered == "" || v.Action != policy.Ask {
		t.Fatalf("%+v", v)
	}
	from, call, was, ok := judge.Recorded(&approvals.Event{Type: approvals.EventApprovalRequired, ToolName: "Bash", Before: json.RawMessage(`{}`), Doubts: []string{v.Unoffered}})
	if again := c.Verdict(from, call); !ok || again.Action != was {
		t.Errorf("judged again: %s by %s", again.Action, again.Rule)
	}
}
