package policy

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

func TestMessages(t *testing.T) {
	p := mustParse(t, `
tools: {bash: {resource: command, as: shell}}
rules:
  - ask: ["transfer"]
    title: "Send {{.Args.amount}} to {{.Args.to}}, {{.Principal.User}}?"
    denial: "{{.Outcome}} by {{.Reviewer}}: {{.Note}} ({{.Rule}})"
  - deny: ["bash(rm *)"]
    denial: "No {{index .Commands 0}}."
  - ask: ["long"]
    title: "{{.Resource}}"
`)
	v := p.Judge(Call{Tool: "transfer", Arguments: `{"amount":5,"to":"bob\nx"}`, Principal: approvals.Principal{User: "ann"}})
	if v.Title != `Send 5 to bob\nx, ann?` || len(v.Flags) > 0 {
		t.Errorf("%q %q", v.Title, v.Flags)
	}
	if got := v.Denial.Denied(Denied{Outcome: approvals.OutcomeExpired, Note: "n", Reviewer: "r"}); got != "expired by r: n (policy.yaml:4)" {
		t.Errorf("%q", got)
	}
	if v := p.Judge(Call{Tool: "transfer", Arguments: `{"amount":5}`}); v.Title != "" || len(v.Flags) != 1 {
		t.Errorf("a title without an argument: %q %q", v.Title, v.Flags)
	}
	if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", "rm x; ls")}); v.Denial.Denied(Denied{}) != "No rm x." {
		t.Errorf("%q", v.Denial.Denied(Denied{}))
	}
	if v := p.Judge(Call{Tool: "other"}); v.Denial.Denied(Denied{}) != "" || v.Title != "" {
		t.Errorf("%+v", v)
	}
	if v := p.Judge(Call{Tool: "long", Arguments: `{"x":"` + strings.Repeat("x", 10_000) + `"}`}); v.Title != "" || len(v.Flags) != 1 {
		t.Errorf("a title without end: %q", v.Title)
	}
	f := func(rule, want string) {
		t.Helper()
		_, err := Parse("p", []byte("rules:\n  - "+rule+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "p:2: "+want) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
	f(`{ask: [x], title: "{{.Tol}}"}`, "rules[0].title: ")
	f(`{ask: [x], title: "{{"}`, "rules[0].title: ")
	f(`{deny: [x], title: "x"}`, "rules[0].title: has no effect")
	f(`{allow: [x], denial: "x"}`, "rules[0]: has a denial and neither")
}
