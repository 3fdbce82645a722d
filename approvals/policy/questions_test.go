package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/cases"
)

func TestQuestions(t *testing.T) {
	for src, want := range map[string]string{
		"": "[] false",
		"questions: {offer: [input, clarification]}":     "[clarification input] false",
		"questions: {offer: [decision], always: true}":   "[decision] true",
		"questions: {offer: []}":                         "questions",
		"questions: {offer: [secrets]}":                  "clarification, decision, env_var, input",
		"questions: {ask: true}":                         "ask",
		"questions: {timeout: 90}":                       "no unit",
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

// A question waits a day where its call may be parked, and as long as the policy states.
func TestQuestionTimeout(t *testing.T) {
	for src, want := range map[string]string{"": "5m0s 24h0m0s", "questions: {timeout: 2h}": "2h0m0s 2h0m0s", "questions: {timeout: 10s, offer: [decision]}": "10s 10s"} {
		p, err := policy.Parse("p.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.QuestionTimeout(false), " ", p.QuestionTimeout(true)); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
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

// explain, check and test know that the calls of a tool are questions, and those of the
// tools that are offered.
func TestQuestionsAreExplained(t *testing.T) {
	p, err := policy.Parse("p.yaml", []byte(`questions: {offer: [decision]}
tools:
  AskUserQuestion: {as: question}
rules:
  - deny: ["AskUserQuestion", "request_clarification"]
  - allow: ["AskUserQuestion(x)", "Ask*"]
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, args, rule, preview, known, flag string }{
		{tool: "AskUserQuestion", args: `{"questions":[{"question":"Which one?","options":["a","b"]}]}`, rule: "questions", preview: "Which one?", known: "tool AskUserQuestion (p.yaml:3)"},
		{tool: "AskUserQuestion", rule: "questions", known: "questions to people"},
		{tool: "request_decision", args: `{"question":"Which?","options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}`, rule: "questions", preview: "Which?", known: "questions.offer"},
		{tool: "request_decision", args: `{"question":"Which?"}`, rule: "questions", known: "questions.offer", flag: "Nobody is asked, and the model gets the error: options: it has 0"},
		{tool: "request_clarification", args: `{"question":"Which?"}`, rule: "p.yaml:5"},
	} {
		e := p.Explain(policy.Call{Tool: tt.tool, Arguments: tt.args})
		if flags := strings.Join(e.Verdict.Flags, " "); e.Verdict.Rule != tt.rule || !strings.Contains(e.Known, tt.known) || (tt.rule == "questions" && e.Verdict.Preview != tt.preview) || !strings.Contains(flags, tt.flag) || (tt.flag == "" && flags != "") {
			t.Errorf("%s %s: by %s, %q, %q, %q", tt.tool, tt.args, e.Verdict.Rule, e.Verdict.Preview, e.Known, e.Verdict.Flags)
		}
		want := cases.Case{Call: policy.Call{Tool: tt.tool, Arguments: tt.args}, Expect: e.Verdict.Action, Rule: tt.rule}
		if problem := want.Check(p); problem != "" {
			t.Errorf("%s as a case: %s", tt.tool, problem)
		}
	}
	want := []string{
		"p.yaml:5: AskUserQuestion has no effect: calls of this tool are questions to people.",
		"p.yaml:6: AskUserQuestion(x) has no effect: calls of this tool are questions to people.",
	}
	var got []string
	for _, one := range p.Warnings() {
		if strings.Contains(one, "no effect") {
			got = append(got, one)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the warnings are %q", got)
	}
}
