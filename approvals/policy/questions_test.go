package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
)

func TestQuestions(t *testing.T) {
	for src, want := range map[string]string{
		"": "[] false",
		"questions: {offer: [input, clarification]}":     "[clarification input] false",
		"questions: {offer: [decision], always: true}":   "[decision] true",
		"questions: {offer: []}":                         "questions",
		"questions: {offer: [secrets]}":                  "clarification, decision, env_var, input",
		"questions: {ask: true}":                         "ask",
		"questions: [decision]":                          "mapping",
		"questions: {offer: [decision], always: indeed}": "always",
	} {
		p, err := policy.Parse("p.yaml", []byte(src))
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", src, err)
			}
			continue
		}
		offer, always := p.Questions()
		if got := fmt.Sprint(offer, always); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
		if offer, always := (policy.Shadow{Policy: p}).Questions(); offer != nil || always {
			t.Errorf("%s: a policy on trial offers %s", src, offer)
		}
	}
}

// Only an entry of the policy gives a tool's calls to people; the rest of a built-in entry
// stays.
func TestAsksPeople(t *testing.T) {
	p, err := policy.Parse("p.yaml", []byte("tools:\n  AskUserQuestion: {as: question}\n  ask_*: {as: question}\n  own: {resource: text, as: plain}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]bool{"AskUserQuestion": true, "ask_me": true, "own": false, "question": false, "Bash": false} {
		if p.AsksPeople(tool) != want {
			t.Errorf("%s: %t", tool, !want)
		}
		if (policy.Shadow{Policy: p}).AsksPeople(tool) {
			t.Errorf("%s asks people while the policy is on trial", tool)
		}
	}
}
