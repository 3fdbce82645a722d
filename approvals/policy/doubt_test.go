package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// Finding 31: a pattern that only may match is a doubt: it is named with the part of the
// call that decides, and its rule's reason, risk and title are no facts.
func TestFinding31_DoubtsAreShownAsDoubts(t *testing.T) {
	p := mustParse(t, `default: allow
tools:
  bash: {resource: command, as: shell, risk: low}
  read: {resource: path, as: path}
  fetch: {resource: url, as: url}
  note: {resource: text}
rules:
  - {ask: ["bash(rm *)"], risk: critical, reason: "This deletes files.", title: "Delete files?"}
  - {ask: ["bash(git push --force *)"], risk: high}
  - {deny: ["bash(dd *)"]}
  - {ask: ["read(secrets/**)"], reason: "This reads secrets.", risk: critical}
  - {ask: ["fetch(https://example.org/a/**)"], risk: critical}
  - {ask: ["note(delete *)"], risk: critical}
`)
	for _, tt := range []struct{ tool, field, text, flag string }{
		{"bash", "command", `echo a; $X -rf /tmp/x`, "May match the ask pattern `bash(rm *)` (policy.yaml:8): `$X` is unknown before it runs."},
		{"bash", "command", `"$(cat name)" x`, "May match the ask pattern `bash(rm *)` (policy.yaml:8): `\"$(cat name)\"` is unknown before it runs."},
		{"bash", "command", `frob rm x`, "May match the ask pattern `bash(rm *)` (policy.yaml:8): `frob rm x` names it and may run it."},
		{"bash", "command", `git push -f origin`, "May match the ask pattern `bash(git push --force *)` (policy.yaml:9): `git push -f origin` may be another way to write it."},
		{"bash", "command", `$Y if=/dev/zero`, "May match the deny pattern `bash(dd *)` (policy.yaml:10): `$Y` is unknown before it runs."},
		{"bash", "command", `RM x`, "May match the ask pattern `bash(rm *)` (policy.yaml:8): `RM x` differs from it in letter case only."},
		{"bash", "command", `ls "`, "May match the ask pattern `bash(rm *)` (policy.yaml:8): the command cannot be parsed as a shell script."},
		{"read", "path", `Secrets/key`, "May match the ask pattern `read(secrets/**)` (policy.yaml:11): which file `Secrets/key` is depends on the agent's folder, or on letter case."},
		{"fetch", "url", `http://example.org/a/b`, "May match the ask pattern `fetch(https://example.org/a/**)` (policy.yaml:12): `http://example.org/a/b` differs from it in scheme, port or letter case."},
		{"note", "text", `Delete all`, "May match the ask pattern `note(delete *)` (policy.yaml:13): `Delete all` differs from it in letter case only."},
	} {
		v := p.Judge(Call{Tool: tt.tool, Arguments: argument(tt.field, tt.text)})
		pattern, fact, _ := strings.Cut(strings.TrimPrefix(tt.flag, "May match "), ": ")
		warned := slices.ContainsFunc(v.Flags, func(flag string) bool {
			sentence, rules := approvals.FoldFlag(flag)
			return sentence == tt.flag || (strings.HasSuffix(sentence, " rules: "+fact) && slices.Contains(rules, pattern))
		})
		if v.Action != Ask || !warned {
			t.Errorf("%s %s: %s, flags %q\nwant %s", tt.tool, tt.text, v.Action, v.Flags, tt.flag)
		}
		before, after, _ := strings.Cut(strings.NewReplacer("the ask pattern ", "", "the deny pattern ", "").Replace(tt.flag), " (")
		if _, doubt, _ := strings.Cut(after, ")"); strings.Contains(tt.flag, "ask pattern") && v.Reason != before+doubt {
			t.Errorf("%s %s: reason %q, want %q", tt.tool, tt.text, v.Reason, before+doubt)
		}
		if v.Risk == approvals.RiskCritical || v.Title != "" || strings.HasPrefix(v.Reason, "This ") {
			t.Errorf("%s %s: risk %s, reason %q, title %q", tt.tool, tt.text, v.Risk, v.Reason, v.Title)
		}
	}
	denied := mustParse(t, "default: allow\ntools: {bash: {resource: command, as: shell}}\nrules: [{allow: [bash]}, {deny: ['bash(dd *)'], reason: No.}]\n")
	if v := denied.Judge(Call{Tool: "bash", Arguments: argument("command", "$Y x")}); v.Reason != "May match `bash(dd *)`: `$Y` is unknown before it runs." {
		t.Errorf("of a deny rule: %q", v.Reason)
	}
	for _, tt := range []struct {
		text string
		risk approvals.Risk
	}{{"rm x", approvals.RiskCritical}, {"git push --force x; $X", approvals.RiskHigh}} {
		if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", tt.text)}); v.Risk != tt.risk {
			t.Errorf("%s: risk %s, want %s (%s)", tt.text, v.Risk, tt.risk, v.Reason)
		}
	}
}

// Doubts about many rules are counted, not all listed.
func TestFinding31_ManyDoubtsAreCounted(t *testing.T) {
	p := mustParse(t, `tools: {bash: {resource: command, as: shell}}
rules:
  - ask: ["bash(a *)", "bash(b *)", "bash(c *)", "bash(d *)", "bash(e *)", "bash(f *)", "bash(g *)"]
`)
	v := p.Judge(Call{Tool: "bash", Arguments: argument("command", "$X y")})
	if len(v.Flags) != 1 {
		t.Fatalf("flags: %q", v.Flags)
	}
	fact, patterns := approvals.FoldFlag(v.Flags[0])
	if fact != "May match 7 rules: `$X` is unknown before it runs." || len(patterns) != maxListed+1 || patterns[0] != "the ask pattern `bash(a *)` (policy.yaml:3)" || patterns[maxListed] != "and 2 more" {
		t.Errorf("%q, %q", fact, patterns)
	}
}

// A class of files is one rule, however many patterns it is short for.
func TestDoubtsCountAClassOnce(t *testing.T) {
	p := mustParse(t, "rules:\n  - ask: ['path(@hook)', 'path(@ci)', 'mcp__x', 'path(a)']\n")
	v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", "frob .h* .g* a")})
	for _, flag := range v.Flags {
		_, rules := approvals.FoldFlag(flag)
		for i, rule := range rules {
			if slices.Contains(rules[:i], rule) || strings.Contains(rule, "**") {
				t.Errorf("%q", flag)
			}
		}
	}
	if len(v.Flags) == 0 {
		t.Error("nothing is in doubt")
	}
}
