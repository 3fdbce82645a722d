package app_test

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// Upstream's stored answers have the question, and the agent's requests for them do not.
func TestStoredAnswerWithAQuestion(t *testing.T) {
	t.Parallel()
	for _, streamed := range []bool{true, false} {
		model := &fakemodel.Model{
			Rules:     []fakemodel.Rule{{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(asking("request_decision", whichSesame))}},
			Otherwise: fakemodel.Answer{Text: "I take it.", Fragment: 100},
		}
		w := build(t, offersAll+allowAll, model.Reply)
		k := newTalk(w, fakemodel.Responses, streamed).withTools("bash")
		answer := k.begin("do it")
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"white"}}})
		<-answer
		id := answerID(t, k)
		for _, query := range []string{"", "?stream=true"} {
			got := w.get(w.url("/v1/responses/" + id + query))
			if leak := leakOfQuestions(got); leak != "" || !strings.Contains(got, "I take it.") || !strings.Contains(got, `"bash"`) {
				t.Errorf("streamed %t, %q: %q is in %s", streamed, query, leak, got)
			}
		}
		// An answer that is asked for first after it was made: in the background.
		first := w.post("/v1/responses", `{"model":"m","input":"do it","background":true,"tools":[{"type":"function","name":"bash","parameters":{}}]}`).rest()
		id = gjson.Get(first, "id").Str
		w.get(w.url("/v1/responses/" + id))
		later := make(chan string, 1)
		go func() { later <- w.get(w.url("/v1/responses/" + id)) }()
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"black"}}})
		got := <-later
		for range 3 { // the continuation is made in the background too
			if strings.Contains(got, `"completed"`) && strings.Contains(got, "I take it.") {
				break
			}
			got += w.get(w.url("/v1/responses/" + id))
		}
		if leak := leakOfQuestions(first + got); leak != "" || !strings.Contains(got, "I take it.") {
			t.Errorf("in the background: %q is in %s", leak, got)
		}
	}
}

func answerID(t *testing.T, k *talk) string {
	t.Helper()
	return answerIn(t, k.raw).Get("id").Str
}

// A question outlives the agent's connection: the agent comes back for the answer.
func TestQuestionIsRejoined(t *testing.T) {
	t.Parallel()
	for path, body := range dialectRequests {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			var c app.Config
			w := build(t, offersAll+allowAll, inOrder(asking("request_decision", whichSesame), fakemodel.Answer{Text: "I take it.", Fragment: 100}), comments, restarting(&c))
			leave := w.ask(path, body)
			r := w.pending(1)[0]
			leave()
			w.agent(r.ID, approvals.AgentDetached)
			w.restart(c)
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"white"}}})
			got := w.post(path, body, retried...).rest()
			if leak := leakOfQuestions(got); leak != "" || !strings.Contains(got, "I take it.") {
				t.Errorf("%q is in %s", leak, got)
			}
			if n := len(w.upstream.Requests()); n != 2 || w.toolsOf(0) != w.toolsOf(1) {
				t.Errorf("upstream was asked %d times, with the tools\n%s\n%s", n, w.toolsOf(0), w.toolsOf(1))
			}
		})
	}
}

// A question is parked like a call: the notice names no tool, and the model reads the
// answer later.
func TestQuestionIsParked(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, offersAll+allowAll, inOrder(asking("request_decision", whichSesame), fakemodel.Answer{Text: "It waits."}, fakemodel.Answer{Text: "I take it."}), parks)
		k := talkTo(w).withTools("bash")
		first := k.say("do it")
		r := w.pending(1)[0]
		if leak := leakOfQuestions(k.raw); leak != "" || !strings.Contains(first.text, r.ID) {
			t.Fatalf("%q is in the notice: %s", leak, k.raw)
		}
		k.say("what else?")
		if body := string(w.upstream.Requests()[1].Body); !strings.Contains(body, "waits for a person's answer") {
			t.Errorf("the model reads %s", body)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"white"}}})
		k.say("and now?")
		if body := string(w.upstream.Requests()[2].Body); !strings.Contains(body, `\"selected\":[\"white\"]`) {
			t.Errorf("the model reads %s", body)
		}
	})
}
