package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals/policy/rule"
)

func TestEscalateIsPartOfTheQuestion(t *testing.T) {
	p := mustParse(t, `
rules:
  - ask: [pay]
    timeout: 30m
    reviewers: [finance]
    escalate: {after: 5m, to: [oncall, board]}
  - ask: ["pay(*)"]
    timeout: 20m
  - ask: [other]
`)
	v := p.Judge(Call{Tool: "pay", Arguments: `{}`})
	if want := (rule.Escalation{After: 5 * time.Minute, To: []string{"board", "oncall"}}); cmp.Diff(want, v.Escalate) != "" {
		t.Errorf("it escalates %+v", v.Escalate)
	}
	if v := p.Judge(Call{Tool: "other", Arguments: `{}`}); v.Escalate.After != 0 {
		t.Errorf("another rule escalates %+v", v.Escalate)
	}
}

func TestEscalateRefuses(t *testing.T) {
	f := func(settings, want string) {
		t.Helper()
		_, err := Parse("policy.yaml", []byte("rules:\n  - ask: [pay]\n"+settings))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", settings, err, want)
		}
	}
	f("    escalate: {after: 1m, to: [oncall]}\n", "policy.yaml:3: rules[0].escalate: has no effect: the rule names no reviewers")
	f("    reviewers: [a]\n    escalate: {after: 5m, to: [oncall]}\n", "rules[0].escalate.after: must be less than the rule's timeout, 5m0s")
	f("    reviewers: [a]\n    escalate: {after: 1m}\n", "rules[0].escalate: is not complete")
	f("    reviewers: [a]\n    escalate: {to: [b]}\n", "rules[0].escalate: is not complete")
	f("    reviewers: [a]\n    escalate: {after: 60, to: [b]}\n", "rules[0].escalate.after: has no unit")
	f("    reviewers: [a]\n    escalate: {after: 1m, to: []}\n", "rules[0].escalate.to: is empty")
	f("    reviewers: [a]\n    escalate: 5m\n", "rules[0].escalate: must be a mapping")
	f("    reviewers: [a]\n    escalate: {after: 1m, to: [b], again: true}\n", "rules[0].escalate.again: unknown key; the keys here are after, to")
}
