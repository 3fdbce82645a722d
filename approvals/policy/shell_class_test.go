package policy

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// TestShellClass: shell(...) is for every tool that runs shell scripts, and for no
// other; shell alone is a tool's name.
func TestShellClass(t *testing.T) {
	p := mustParse(t, `
default: ask
tools:
  mine:  {resource: script, as: shell}
  notes: {resource: text}
rules:
  - deny: ["shell(rm *)"]
  - ask: ["shell(git push:*)"]
    risk: high
  - allow: ["shell(ls *)", "shell(git *)", "other(*)"]
`)
	f := func(want Action, tool, args string) {
		t.Helper()
		c := Call{Tool: tool, Arguments: args}
		v := p.Judge(c)
		if v.Action != want {
			t.Errorf("%s %s: %s by %s (%s), want %s", tool, args, v.Action, v.Rule, v.Reason, want)
		}
		if e := p.Explain(c); e.Verdict.Action != want || (e.Rules[0].Says == "is for another tool") != (tool == "notes" || tool == "Read") {
			t.Errorf("%s %s: explained as %+v", tool, args, e)
		}
	}
	for tool, field := range map[string]string{"mine": "script", "Bash": "command", "shell": "command", "exec_command": "cmd"} {
		f(Deny, tool, argument(field, "ls x; rm x"))
		f(Ask, tool, argument(field, "git push"))
		f(Allow, tool, argument(field, "ls x"))
		if _, ok := p.allowsAny(&Call{Tool: tool}); ok {
			t.Errorf("%s is allowed by name", tool)
		}
	}
	f(Ask, "notes", argument("text", "rm x"))
	f(Ask, "Read", argument("file_path", "rm x"))
	p = mustParse(t, "default: ask\nrules: [{allow: [shell]}]\n")
	if v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", "ls")}); v.Action != Ask {
		t.Errorf("shell alone is a tool's name: %+v", v)
	}
	for _, grant := range []string{"shell(ls *)", "shell(*)"} {
		c, err := CompileGrant(approvals.Grant{ID: "g", Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Patterns: []string{grant}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckGrant(c); (err == nil) != (grant == "shell(ls *)") {
			t.Errorf("%s: %v", grant, err)
		}
		if !c.IsFor("Bash") || !c.IsFor("shell") || c.IsFor("Read") {
			t.Errorf("%s is for other tools", grant)
		}
	}
	if _, err := Parse("policy.yaml", []byte("rules: [{allow: ['shell(a && b)']}]\n")); err == nil {
		t.Error("an allow pattern that is no command is taken")
	}
}
