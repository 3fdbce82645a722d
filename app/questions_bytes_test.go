package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// Several questions at once are several requests; each has an end of its own.
func TestSeveralQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, offersAll+denyAll, inOrder(asking("request_decision", whichSesame, "request_clarification", howSesame, "request_clarification", `{"question":""}`), fakemodel.Answer{Text: "Thanks."}))
		k := talkTo(w).withTools("bash")
		answer := k.begin("do it")
		for _, r := range w.pending(2) {
			d := approvals.Decision{Action: approvals.ActionDeny, Note: "Guess."}
			if r.Kind == approvals.KindDecision {
				d = approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"black"}}}
			}
			w.decide(r.ID, d)
		}
		if got := <-answer; leakOfQuestions(k.raw) != "" || len(got.calls) > 0 || !strings.Contains(got.text, "Thanks.") {
			t.Fatalf("%q is in the answer %s", leakOfQuestions(k.raw), k.raw)
		}
		body := string(w.upstream.Requests()[1].Body)
		for _, part := range []string{`\"selected\":[\"black\"]`, "Their note: Guess.", "nobody was asked: question: it is missing"} {
			if strings.Count(body, part) != 1 {
				t.Errorf("%s is not once in %s", part, body)
			}
		}
	})
}

// However the call of a question is cut into events, nothing of it leaves.
func TestPromise1_NoLeak_OfQuestions(t *testing.T) {
	t.Parallel()
	for _, fragment := range []int{1, 3, 1000} {
		t.Run(fmt.Sprint(fragment), func(t *testing.T) {
			t.Parallel()
			eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
				first := asking("request_decision", whichSesame, "bash", `{"command":"ls"}`)
				first.Fragment = fragment
				first.Calls[1].ID = "call_own_Xk9"
				w := build(t, offersAll+allowAll, inOrder(first), comments)
				k := talkTo(w).withTools("bash")
				answer := k.begin("do it")
				w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"white"}}})
				if got := <-answer; leakOfQuestions(k.raw) != "" || len(got.calls) != 1 || got.calls[0].Arguments != `{"command":"ls"}` {
					t.Errorf("%q is in the answer %s", leakOfQuestions(k.raw), k.raw)
				}
			})
		})
	}
}

// An error of upstream that quotes the tools that heldcall has added is withheld.
func TestErrorsDoNotQuoteOfferedTools(t *testing.T) {
	t.Parallel()
	for path, body := range dialectRequests {
		w := build(t, offersAll+allowAll, func(*fakemodel.Request) fakemodel.Reply {
			return fakemodel.Fail(400, "invalid_request_error", "Invalid schema for function 'request_clarification': 'tools[1]'.")
		})
		got := w.post(path, body).rest()
		if leak := leakOfQuestions(got); leak != "" || !strings.Contains(got, "withheld") {
			t.Errorf("%s: %q is in %s", path, leak, got)
		}
	}
}

// An agent whose history is at the provider names the answer, and the model still knows of
// the question.
func TestQuestionBeforeAPreviousResponse(t *testing.T) {
	t.Parallel()
	model := &fakemodel.Model{
		Rules: []fakemodel.Rule{
			{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(asking("request_decision", whichSesame))},
			{When: fakemodel.UserSays("and now"), Say: fakemodel.Say(fakemodel.Answer{Text: "It is done."})},
		},
		Otherwise: fakemodel.Answer{Text: "I take it."},
	}
	for _, streamed := range []bool{true, false} {
		w := build(t, offersAll+allowAll, model.Reply)
		k := newTalk(w, fakemodel.Responses, streamed).withTools("bash")
		answer := k.begin("do it")
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"white"}}})
		<-answer
		k.fields["previous_response_id"] = answerID(t, k)
		k.history = nil
		if got := k.say("and now"); !strings.Contains(got.text, "It is done.") || leakOfQuestions(k.raw) != "" {
			t.Errorf("streamed %t: the agent gets %s", streamed, k.raw)
		}
		requests := w.upstream.Requests()
		if last, second := requests[len(requests)-1].Body, requests[1].Body; w.toolsOf(len(requests)-1) != w.toolsOf(0) || gjson.GetBytes(last, "previous_response_id").Str == "" || !strings.Contains(string(second), "answered_by") {
			t.Errorf("streamed %t: upstream gets\n%s\n%s", streamed, second, last)
		}
	}
}
