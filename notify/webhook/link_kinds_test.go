package webhook

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// A link only declines a question: its page shows the question and has no button that
// approves.
func TestALinkDeclinesAQuestion(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r := s.ask(func(r *approvals.Request) {
		r.Kind = approvals.KindClarification
		r.Details.Questions = []approvals.Question{{Kind: r.Kind, Question: "How <b>much</b>?", AllowFreeText: true}}
	})
	body := browse(l, http.MethodGet, s.link(l, r), "").Body.String()
	for _, text := range []string{"<h1>Decline this question?</h1>", "How &lt;b&gt;much&lt;/b&gt;?", `<a href="../../#/requests/` + r.ID + `">answer it in the inbox</a>`, `value="deny">Decline<`} {
		if !strings.Contains(body, text) {
			t.Errorf("the page lacks %s: %s", text, body)
		}
	}
	for _, text := range []string{"Approve", "approval", " call", "Arguments"} {
		if strings.Contains(body, text) {
			t.Errorf("the page has %q: %s", text, body)
		}
	}
	if w := browse(l, http.MethodPost, s.link(l, r), "action=deny&note=Guess"); w.Code != http.StatusOK || s.status(r).Status != approvals.StatusDenied || !strings.Contains(w.Body.String(), "<h1>Declined</h1>") {
		t.Errorf("declining answers %d: %s", w.Code, w.Body)
	}
}

// The page of a link about a result names the result, and the effects of decisions.
func TestALinkOfAResult(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r := s.ask(func(r *approvals.Request) {
		r.Kind, r.Arguments, r.Details.FreeText = approvals.KindResult, []byte(`"14 \"lines\"\n<b>more"`), true
	})
	body := browse(l, http.MethodGet, s.link(l, r), "").Body.String()
	for _, text := range []string{"<h1>Decide this result?</h1>", "the model reads the result", "<h2>Result</h2>", "<pre>14 &#34;lines&#34;\n&lt;b&gt;more</pre>", ">Approve<"} {
		if !strings.Contains(body, text) {
			t.Errorf("the page lacks %s: %s", text, body)
		}
	}
}
