package policy_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
)

// A call with the handle of a stored secret is allowed only if a rule of secrets covers it.
func TestSecretsOfAgents(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte(`
default: allow
tools:
  bash: {resource: command, as: shell}
secrets:
  - {name: A, tools: ["bash(gh auth *)", login]}
  - {name: B, tools: ["login"]}
rules:
  - deny: ["bash(rm *)"]
  - ask: ["pay"]
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tool, arguments string
		want            policy.Action
		rule            string
	}{
		{"bash", `{"command":"gh auth secret://A"}`, policy.Allow, "default"},
		{"bash", `{"command":"gh auth secret://B"}`, policy.Ask, policy.RuleSecrets},
		{"bash", `{"command":"gh auth secret://A secret://B"}`, policy.Ask, policy.RuleSecrets},
		{"bash", `{"command":"gh auth secret://C"}`, policy.Allow, "default"}, // it is not stored
		{"bash", `{"command":"curl secret://A"}`, policy.Ask, policy.RuleSecrets},
		{"bash", `{"command":"rm secret://A"}`, policy.Deny, "policy.yaml:9"},
		{"login", `{"a":"secret://A","b":["secret://B"]}`, policy.Allow, "default"},
		{"pay", `{"a":"secret://A"}`, policy.Ask, "policy.yaml:10"},
		{"other", `{"secret://A":"name"}`, policy.Allow, "default"},
	} {
		v := p.Judge(policy.Call{Tool: test.tool, Arguments: test.arguments, Secrets: []string{"A", "B"}})
		if v.Action != test.want || !strings.HasPrefix(v.Rule, test.rule) {
			t.Errorf("%s %s: %s by %s, want %s by %s", test.tool, test.arguments, v.Action, v.Rule, test.want, test.rule)
		}
		if v.Rule == policy.RuleSecrets && (v.AllowRemember || v.OnTimeout != "deny") {
			t.Errorf("%s %s: %+v", test.tool, test.arguments, v)
		}
	}
	if v := p.Explain(policy.Call{Tool: "bash", Arguments: `{"command":"curl secret://A"}`}).Verdict; v.Rule != policy.RuleSecrets {
		t.Errorf("explained by %s", v.Rule)
	}
}

func TestSecretsOfAgentsAreChecked(t *testing.T) {
	for src, want := range map[string]string{
		"secrets: [{name: A B, tools: [x]}]":        "is not the name of a secret",
		"secrets: [{tools: [x]}]":                   "names no secret",
		"secrets: [{name: A}]":                      "has no tools",
		"secrets: [{name: A, tools: ['x(']}]":       "does not end with )",
		"secrets: [{name: A, tools: [x], when: y}]": "when",
	} {
		if _, err := policy.Parse("policy.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}
