package watch

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// asking is a request with a question of a model.
func asking(id string, q approvals.Question) approvals.Request {
	r := bash(id, "")
	r.Kind, r.ToolName, r.Title = q.Kind, "request_decision", "The agent asks for a decision"
	r.Details.Questions = []approvals.Question{q}
	return r
}

// An answer is the ids of options, values or words, as the question asks. No key approves
// or edits a question.
func TestQuestionIsAnswered(t *testing.T) {
	decision := approvals.Question{Kind: approvals.KindDecision, Question: "Which?", MaxSelections: 2, Options: []approvals.Option{{ID: "x", Label: "X"}, {ID: "y", Label: "Y", Recommended: true, RiskLevel: approvals.RiskHigh}}}
	free := decision
	free.AllowFreeText = true
	for name, tt := range map[string]struct {
		question approvals.Question
		prompt   string
		typed    string
		want     approvals.Response
	}{
		"options":        {decision, "Ids of options with commas between:", "x, y", approvals.Response{Selected: []string{"x", "y"}}},
		"not an option":  {decision, "Ids of options", "z", approvals.Response{Answer: "z"}}, // the server refuses it
		"option or text": {free, "or an answer in words:", "neither, x", approvals.Response{Answer: "neither, x"}},
		"words":          {approvals.Question{Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true}, "Answer:", "with care", approvals.Response{Answer: "with care"}},
		"values":         {approvals.Question{Kind: approvals.KindEnvVar, Fields: []approvals.QuestionField{{Name: "HOST"}, {Name: "PORT"}}}, "NAME=VALUE with commas", "HOST=a=b,PORT=1", approvals.Response{Values: map[string]string{"HOST": "a=b", "PORT": "1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, asking("01A", tt.question))
			s.press("enter")
			s.settled()
			s.shows("a answer · d decline")
			s.press("e")
			s.shows("A question has no arguments to edit")
			s.press("a")
			s.shows(tt.prompt)
			s.press(tt.typed)
			s.decided()
			s.press("enter")
			s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionAnswer, Response: tt.want})
		})
	}
}

// A question that is too large for lists is answered once it is loaded; several questions
// are answered elsewhere.
func TestQuestionThatCannotBeAnsweredYet(t *testing.T) {
	r := asking("01A", approvals.Question{Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true})
	r.Details.Questions, r.Details.Abridged = nil, true
	s := begin(t, r)
	s.press("enter")
	s.settled()
	s.press("a", "x", "enter")
	s.decided()
	several := asking("01B", approvals.Question{ID: "a", Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true})
	several.Kind = approvals.KindCombined
	s = begin(t, several)
	s.press("enter")
	s.settled()
	s.press("a")
	s.shows("Answer several questions in the inbox, or with heldcall answer.")
	s.decided()
}
