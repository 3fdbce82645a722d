package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const (
	pressAnswer = "heldcall_answer"
	pressOption = "heldcall_option_"
)

// asksInSlack is an agent whose model asks a question, and the request about it.
func asksInSlack(t *testing.T, call ...string) (w *slackWorld, answer chan read, r approvals.Request) {
	t.Helper()
	w = newSlackWorld(t, offersAll+allowAll, inOrder(asking(call...), fakemodel.Answer{Text: "Thanks."}))
	answer = newTalk(w.world, fakemodel.Chat, true).withTools("bash").begin("do it")
	return w, answer, w.pending(1)[0]
}

// told is what the model gets in place of the result of its question.
func (w *slackWorld) told() string { return string(w.upstream.Requests()[1].Body) }

func TestSlackAnswersByAButton(t *testing.T) {
	t.Parallel()
	w, answer, r := asksInSlack(t, "request_decision", whichSesame)
	m := w.card(0, "Which sesame?")
	w.press("UVIC", m, pressOption+"0", r.ID)
	w.toldAlone("UVIC", "view-only")
	w.press("UANN", m, pressOption+"7", r.ID)
	w.toldAlone("UANN", "Not possible from Slack")
	w.press("UANN", m, pressYes, r.ID)
	w.pending(1)
	w.press("UANN", m, pressOption+"1", r.ID)
	if got := <-answer; got.text == "" || len(got.calls) > 0 {
		t.Errorf("the agent gets %+v", got)
	}
	if !strings.Contains(w.told(), `\"selected\":[\"white\"]`) {
		t.Errorf("the model gets %s", w.told())
	}
	if d := w.status(r.ID, approvals.StatusAnswered).Decisions[0]; d.ReviewerID != "ann" || d.Channel != "slack" {
		t.Errorf("decided by %+v", d)
	}
	w.card(0, "answered by `ann`: `White sesame`")
	w.press("UBOB", m, pressOption+"0", r.ID)
	w.toldAlone("UBOB", "Too late")
}

// A form has each question, and shows an error at the part that it is about.
func TestSlackAnswersByAForm(t *testing.T) {
	t.Parallel()
	w, answer, r := asksInSlack(t, "request_input", `{"questions":[
		{"id":"a","kind":"decision","question":"Which sesame?","type":"multi_choice","max_selections":2,"options":[{"id":"x","label":"X"},{"id":"y","label":"Y"},{"id":"z","label":"Z","recommended":true}]},
		{"id":"b","kind":"env_var","fields":[{"name":"HOST","required":true,"secret":false,"pattern":"[a-z.]+","placeholder":"example.org"}]},
		{"id":"c","kind":"clarification","question":"How much sesame?"}]}`)
	w.press("UANN", w.card(0, "Which sesame?"), pressAnswer, r.ID)
	w.until("the form is open", func() bool { return len(w.slack.Views()) > 0 })
	for _, one := range []struct{ values, part, wrong string }{
		{"a=;b=h;c=two", "responses.a.selected", "not answered"},
		{"a=0,1,2;b=h;c=two", "responses.a.selected", "at most 2"},
		{"a=9;b=h;c=two", "responses.a.selected", "not the id of an option"},
		{"a=0;b=H;c=two", "responses.b.values.HOST", "does not match the pattern"},
		{"a=0;b=h;c= ", "responses.c.answer", "not answered"},
	} {
		if wrong := w.submit("UANN", formValues(one.values)); !strings.Contains(wrong[one.part], one.wrong) {
			t.Errorf("%s: the form shows %q", one.values, wrong)
		}
	}
	if wrong := w.submit("UVIC", formValues("a=0;b=h;c=two")); !strings.Contains(wrong["responses.a.selected"], "view-only") {
		t.Errorf("a viewer's form gets %q", wrong)
	}
	w.pending(1)
	if wrong := w.submit("UANN", formValues("a=2,0;b=example.org;c=two <b>spoons</b>")); wrong != nil {
		t.Fatalf("not taken: %q", wrong)
	}
	<-answer
	for _, part := range []string{`\"selected\":[\"z\",\"x\"]`, `{\"HOST\":\"example.org\"}`, `two <b>spoons</b>`} {
		if !strings.Contains(w.told(), part) && !strings.Contains(w.told(), strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(part)) {
			t.Errorf("%s is not in %s", part, w.told())
		}
	}
	if wrong := w.submit("UBOB", formValues("a=0;b=h;c=two")); !strings.Contains(wrong["responses.a.selected"], "Too late") {
		t.Errorf("a late form gets %q", wrong)
	}
}

func formValues(text string) map[string]string {
	parts := map[string]string{"a": "responses.a.selected", "b": "responses.b.values.HOST", "c": "responses.c.answer"}
	values := map[string]string{}
	for _, pair := range strings.Split(text, ";") {
		name, value, _ := strings.Cut(pair, "=")
		values[parts[name]] = value
	}
	return values
}

func TestSlackDeclinesAQuestion(t *testing.T) {
	t.Parallel()
	w, answer, r := asksInSlack(t, "request_clarification", howSesame)
	w.press("UBOB", w.card(0, "How much sesame?"), pressNo, r.ID)
	<-answer
	if !strings.Contains(w.told(), "does not want to answer it") {
		t.Errorf("the model gets %s", w.told())
	}
	w.card(0, "denied by `bob`")
}

// The form of a held call answers it in words: it does not run, and is not denied.
func TestSlackAnswersACallInWords(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, askAll, callThenText)
	agent := w.post("/v1/chat/completions", streamedRequest)
	r := w.pending(1)[0]
	w.press("UANN", w.card(0, "bash"), pressNote, r.ID)
	w.until("the form is open", func() bool { return len(w.slack.Views()) > 0 })
	if wrong := w.submit("UANN", map[string]string{"note": " ", "answer": "words"}); !strings.Contains(wrong["note"], "not answered") {
		t.Errorf("a form without words gets %q", wrong)
	}
	if wrong := w.submit("UANN", map[string]string{"note": "Use the other folder.", "answer": "words"}); wrong != nil {
		t.Fatalf("not taken: %q", wrong)
	}
	if got := agent.rest(); leaks(got) != "" {
		t.Errorf("the agent gets %s", got)
	}
	if !strings.Contains(w.told(), "not refused either. They answer: Use the other folder.") {
		t.Errorf("the model gets %s", w.told())
	}
	w.card(0, "answered by `ann`: `Use the other folder.`")
}
