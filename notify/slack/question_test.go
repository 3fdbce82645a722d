package slack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify/notifytest"
)

// question is a pending request with questions.
func question(kind approvals.Kind, list ...approvals.Question) approvals.Request {
	r := notifytest.Request(1)
	r.Kind, r.ToolName, r.Title, r.RiskLevel = kind, "request_decision", "The agent asks for a decision", approvals.RiskLow
	r.Details.Questions = list
	for i := range list {
		if kind != approvals.KindCombined {
			list[i].Kind = kind
		}
	}
	return r
}

// options are some options with labels of some length.
func options(n, length int) (list []approvals.Option) {
	for i := range n {
		list = append(list, approvals.Option{ID: fmt.Sprint("o", i), Label: fmt.Sprint(i, " ", strings.Repeat("x", length-2))})
	}
	return list
}

// A question has the buttons that fit it: one for each option if they are few and short,
// else a form. Slack accepts each card.
func TestQuestionsHaveButtons(t *testing.T) {
	const answer, decline = "heldcall_answer", "heldcall_deny"
	for name, tt := range map[string]struct {
		r     approvals.Request
		want  []string
		shows string
	}{
		"options, recommended first": {
			question(approvals.KindDecision, approvals.Question{Question: "Which?", MaxSelections: 1, Options: []approvals.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B", Recommended: true, RiskLevel: approvals.RiskHigh, EstimatedCost: "2 EUR"}}}),
			[]string{"heldcall_option_1", "heldcall_option_0", decline},
			"  b: B\n    recommended, risk high, cost 2 EUR",
		},
		"and words":             {question(approvals.KindDecision, approvals.Question{Question: "Which?", MaxSelections: 1, Options: options(2, 10), AllowFreeText: true}), []string{"heldcall_option_0", "heldcall_option_1", answer, decline}, "or answer in words"},
		"long labels":           {question(approvals.KindDecision, approvals.Question{Question: "Which?", MaxSelections: 1, Options: options(2, 76)}), []string{answer, decline}, "Which?"},
		"labels of signs":       {question(approvals.KindDecision, approvals.Question{Question: "Which?", MaxSelections: 1, Options: []approvals.Option{{ID: "a", Label: strings.Repeat("\u202e", 20)}, {ID: "b", Label: "B"}}}), []string{answer, decline}, `\u202e`},
		"many options":          {question(approvals.KindDecision, approvals.Question{Question: "Which?", MaxSelections: 1, Options: options(30, 70)}), []string{answer, decline}, "o29"},
		"five long options":     {question(approvals.KindDecision, approvals.Question{Question: strings.Repeat("q", 2000), MaxSelections: 1, Options: options(5, 75)}), []string{"heldcall_option_0", "heldcall_option_1", "heldcall_option_2", "heldcall_option_3", "heldcall_option_4", decline}, "o4"},
		"several to select":     {question(approvals.KindDecision, approvals.Question{Question: "Which?", MaxSelections: 2, Options: options(3, 10)}), []string{answer, decline}, "select up to 2"},
		"words":                 {question(approvals.KindClarification, approvals.Question{Question: "How <!here> ```?", AllowFreeText: true}), []string{answer, decline}, `How &lt;!here&gt; \u0060\u0060\u0060?`},
		"values":                {question(approvals.KindEnvVar, approvals.Question{Fields: []approvals.QuestionField{{Name: "HOST", InputType: "text", Required: true}}}), []string{answer, decline}, "HOST (text, required)"},
		"secrets":               {question(approvals.KindEnvVar, approvals.Question{Fields: []approvals.QuestionField{{Name: "HOST"}, {Name: "KEY", Secret: true}}}), []string{decline}, "asks for a secret, and Slack would keep it:* <https://heldcall.example/#/requests/"},
		"a secret among others": {question(approvals.KindCombined, approvals.Question{ID: "a", Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true}, approvals.Question{ID: "b", Kind: approvals.KindEnvVar, Fields: []approvals.QuestionField{{Name: "KEY", Secret: true}}}), []string{decline}, "asks for a secret"},
		"too long":              {question(approvals.KindClarification, approvals.Question{Question: strings.Repeat("long ", 800), AllowFreeText: true}), []string{decline}, "too long for Slack and cannot be answered here"},
		"several questions":     {question(approvals.KindCombined, approvals.Question{ID: "a", Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true}, approvals.Question{ID: "b", Kind: approvals.KindDecision, Question: "Which?", MaxSelections: 1, Options: options(2, 10)}), []string{answer, decline}, "[b]\nWhich?"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			if _, err := w.channel.Post(t.Context(), notifytest.Delivery(tt.r)); err != nil || len(w.Calls()) != 1 {
				t.Fatalf("posted with %d calls: %v", len(w.Calls()), err)
			}
			m := w.Messages()[0]
			if got := m.Buttons(tt.r.ID); !slices.Equal(got, tt.want) {
				t.Errorf("the buttons are %q, want %q", got, tt.want)
			}
			if !strings.Contains(m.Shown(), tt.shows) {
				t.Errorf("not shown: %s\n%s", tt.shows, m.Shown())
			}
		})
	}
}

// A card of a question that has ended shows the answer, and of values their names only.
func TestCardsShowAnswers(t *testing.T) {
	r := question(approvals.KindCombined,
		approvals.Question{ID: "a", Kind: approvals.KindDecision, Question: "Which?", MaxSelections: 1, Options: []approvals.Option{{ID: "x", Label: "The <b>first</b>"}}},
		approvals.Question{ID: "b", Kind: approvals.KindEnvVar, Fields: []approvals.QuestionField{{Name: "HOST"}}})
	if text := "(not answered)"; !strings.Contains(shown(t, r), text) {
		t.Errorf("not shown: %s", text)
	}
	r.Status, r.Decisions = approvals.StatusAnswered, []approvals.Decision{{
		ReviewerID: "bob", Action: approvals.ActionAnswer, Channel: "slack",
		Responses: map[string]approvals.Response{"a": {Selected: []string{"x"}}, "b": {Values: map[string]string{"HOST": "db.internal"}}},
	}}
	text := shown(t, r)
	if want := "answered by `bob`: `a: The &lt;b&gt;first&lt;/b&gt;; b: values of HOST`"; !strings.Contains(text, want) || strings.Contains(text, "db.internal") {
		t.Errorf("not shown: %s\n%s", want, text)
	}
	r.Status, r.Decisions = approvals.StatusExpired, nil
	if text := shown(t, r); !strings.Contains(text, "expired, not answered") {
		t.Errorf("the end is not shown:\n%s", text)
	}
}

// Slack accepts a card of several questions at the first attempt.
func TestCardsOfQuestionsFit(t *testing.T) {
	for _, n := range []int{1, 4, 10} {
		for _, length := range []int{10, 1000, 2600} {
			w := newWorkspace(t)
			var all []approvals.Request
			for i := range n {
				r := question(approvals.KindDecision, approvals.Question{Question: strings.Repeat("<", length/4), MaxSelections: 1, Options: options(5, 75), AllowFreeText: true})
				r.ID = notifytest.Request(i + 1).ID
				all = append(all, r)
			}
			if _, err := w.channel.Post(t.Context(), notifytest.Delivery(all...)); err != nil || len(w.Calls()) != 1 {
				t.Errorf("%d questions of %d characters: %d calls, %v", n, length, len(w.Calls()), err)
			}
		}
	}
}
