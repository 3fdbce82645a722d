package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestMendedNames: deny and ask rules hold for the tools that agents may run in place of a name, with the settings of their
// rules; nothing is allowed by another name.
func TestMendedNames(t *testing.T) {
	const rules = `
tools:
  bash: {resource: command, as: shell}
  never: {default: deny}
rules:
  - deny: ["bash(rm *)", "delete_*"]
  - deny: [move]
    when: args.amount > 10
  - ask: ["bash(git push *)"]
    reviewers: [ops]
    confirm: type
  - allow: ["bash(ls *)", read, "Bash(*)", "shell(ls *)"]
`
	const unoffered = "The tool is not offered."
	command := func(text string) string { return argument("command", text) }
	for _, tt := range []struct {
		name      string
		call      Call
		byDefault Action // ask if the default allows
		want      Action
		flag      string
	}{
		{"offered", Call{Tool: "Bash", Arguments: command("rm x"), Offered: true}, Allow, Allow, ""},
		{"not offered, denied", Call{Tool: "Bash", Arguments: command("rm x"), Unoffered: unoffered, Near: []string{"bash"}}, Allow, Deny, "judged as bash too"},
		{"not offered, asked about", Call{Tool: "Bash", Arguments: command("git push x"), Unoffered: unoffered, Near: []string{"bash"}}, Allow, Ask, "judged as bash too"},
		{"not offered, allowed", Call{Tool: "Bash", Arguments: command("ls x"), Unoffered: unoffered, Near: []string{"bash"}}, Allow, Ask, unoffered},
		{"not offered, may be denied", Call{Tool: "Bash", Arguments: command("$X x"), Unoffered: unoffered, Near: []string{"bash"}}, Allow, Ask, "the deny pattern `bash(rm *)`"},
		{"not offered, denied by default", Call{Tool: "Bash", Arguments: command("ls x"), Unoffered: unoffered, Near: []string{"bash"}}, Deny, Deny, unoffered},
		{"not offered, an entry denies", Call{Tool: "Never", Arguments: "{}", Unoffered: unoffered, Near: []string{"never"}}, Allow, Deny, unoffered},
		{"not offered, of no near tool", Call{Tool: "teleport", Arguments: "{}", Unoffered: unoffered}, Allow, Ask, unoffered},
		{"not offered, of a rule only", Call{Tool: "BASH", Arguments: command("rm x"), Unoffered: unoffered}, Allow, Deny, "judged as bash too"},
		{"not offered, several tools", Call{Tool: "ba_sh", Arguments: command("rm x"), Unoffered: unoffered, Near: []string{"baSh", "Bash", "bash"}}, Allow, Deny, ""},
		{"not offered, a condition that holds", Call{Tool: "Move", Arguments: `{"amount":11}`, Unoffered: unoffered, Near: []string{"move"}}, Allow, Deny, ""},
		{"not offered, a condition that does not hold", Call{Tool: "Move", Arguments: `{"amount":9}`, Unoffered: unoffered, Near: []string{"move"}}, Allow, Ask, unoffered},
		{"unknown, as it is written", Call{Tool: "Bash", Arguments: command("ls x")}, Allow, Allow, ""},
		{"unknown, denied", Call{Tool: "Bash", Arguments: command("rm x")}, Allow, Deny, ""},
		{"unknown, asked about", Call{Tool: "functions.bash", Arguments: command("git push x")}, Allow, Ask, "judged as bash too"},
		{"unknown, another tool", Call{Tool: "mcp__shop__bash", Arguments: command("rm x")}, Allow, Allow, ""},
		{"unknown, a pattern with a star", Call{Tool: "deleteEverything", Arguments: "{}"}, Allow, Deny, ""},
		{"unknown, a longer word", Call{Tool: "deletes", Arguments: "{}"}, Allow, Allow, ""},
		{"unknown, a class of tools", Call{Tool: "BASH", Arguments: command("git push x")}, Allow, Ask, ""},
	} {
		v := mustParse(t, "default: "+string(tt.byDefault)+rules).Judge(tt.call)
		if v.Action != tt.want || (tt.flag != "" && !strings.Contains(strings.Join(v.Flags, " "), tt.flag)) {
			t.Errorf("%s: %s by %s (%s), flags %q; want %s, %q", tt.name, v.Action, v.Rule, v.Reason, v.Flags, tt.want, tt.flag)
		}
		if tt.call.Unoffered != "" && (v.AllowRemember || len(v.Suggested) > 0 || v.Unoffered == "") {
			t.Errorf("%s: remember %t, %q, %q", tt.name, v.AllowRemember, v.Suggested, v.Unoffered)
		}
		if tt.name == "not offered, asked about" && (!slices.Contains(v.Reviewers, "ops") || !v.Confirm) {
			t.Errorf("%s: reviewers %q, confirm %t", tt.name, v.Reviewers, v.Confirm)
		}
	}
	e := mustParse(t, "default: allow"+rules).Explain(Call{Tool: "Bash", Arguments: command("rm x")})
	if !slices.ContainsFunc(e.Rules, func(r RuleExplanation) bool {
		return r.Applies && r.Says == "holds, as agents may run bash in place of Bash"
	}) {
		t.Errorf("explained as %+v", e.Rules)
	}
}

// TestServersInRules: the name of an MCP server is every tool of it, and no tool of another one.
func TestServersInRules(t *testing.T) {
	const rules = "tools:\n  mcp__shell__run: {resource: command, as: shell}\nrules:\n  - deny: [mcp__gh, 'mcp__web(*evil*)']\n  - ask: [mcp__mail]\n  - allow: [mcp__docs, 'mcp__*']\n"
	for tool, want := range map[string]Action{
		"mcp__gh__delete_repo": Deny, "mcp__gh": Deny, "MCP__GH__deleteRepo": Deny, "mcp__gh__evil__x": Deny, "mcp__gh2__x": Allow, "mcp__g__x": Allow,
		"mcp__mail__send": Ask, "mcp__mailer__send": Allow, "mcp__web__get": Allow,
	} {
		if v := mustParse(t, rules).Judge(Call{Tool: tool, Arguments: "{}"}); v.Action != want {
			t.Errorf("%s: %s by %s, want %s", tool, v.Action, v.Rule, want)
		}
	}
	if v := mustParse(t, rules).Judge(Call{Tool: "mcp__web__get", Arguments: `{"url":"https://evil.example"}`}); v.Action != Deny {
		t.Errorf("a server with an argument: %s by %s", v.Action, v.Rule)
	}
	for tool, want := range map[string]Action{
		"mcp__docs__search": Allow, "mcp__docs": Allow, "mcp__docs__evil__search": Ask, "mcp__docs2__search": Ask, "mcp__docs_evil__search": Ask, "MCP__docs__search": Ask,
		"mcp__docs__evil__": Ask, "mcp__docs__": Ask, "mcp__docs___x": Ask,
	} {
		if v := mustParse(t, "rules:\n  - allow: [mcp__docs]\n").Judge(Call{Tool: tool, Arguments: "{}"}); v.Action != want {
			t.Errorf("allowed server, %s: %s by %s, want %s", tool, v.Action, v.Rule, want)
		}
	}
}
