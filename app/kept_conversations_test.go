package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// Two users of one key, with the same words, in conversations that the provider keeps.

// A denial counts in its conversation only: people are asked about the other user's equal call.
func TestDenialStaysInItsConversation(t *testing.T) {
	t.Parallel()
	for name, converse := range manners() {
		if strings.Contains(name, ", one ") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, alwaysCalling())
			for range 2 {
				talk, ended := converse(w), make(chan bool, 1)
				go func() { released, _ := talk("do it"); ended <- released }()
				w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "Not for you."})
				if <-ended {
					t.Error("the denied call was released")
				}
			}
		})
	}
}

// The connection of one user breaks while a call is held. The other user's request with the same words
// continues another answer, and does not get the call; the same request again does.
func TestHeldTurnStaysInItsConversation(t *testing.T) {
	t.Parallel()
	const (
		input = `{"model":"m","stream":true,"input":%q,"tools":[{"type":"function","name":"bash","parameters":{}}]%s}`
		begin = `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":%q}],"tools":[{"name":"bash","input_schema":{"type":"object"}}]%s}`
		more  = `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":%q}]%s}`
	)
	for name, tt := range map[string]struct {
		path    string
		begin   func(w *world, user int) (id string)
		request string
		refer   string
	}{
		"previous_response_id": {"/v1/responses", func(w *world, user int) string {
			return answerIn(w.t, w.post("/v1/responses", fmt.Sprintf(input, "hello", fmt.Sprintf(`,"top_p":0.%d`, user))).rest()).Get("id").Str
		}, input, `,"previous_response_id":%q`},
		"conversation": {"/v1/responses", func(w *world, user int) string {
			return gjson.Get(w.post("/v1/conversations", fmt.Sprintf(`{"metadata":{"user":"%d"}}`, user)).rest(), "id").Str
		}, input, `,"conversation":{"id":%q}`},
		"thread": {"/v1/messages", func(w *world, _ int) string {
			k := thread{talk: talk{streamed: true, raw: w.post("/v1/messages", fmt.Sprintf(begin, "hello", `,"thread":{"type":"create"}`), "anthropic-version", "2023-06-01", "x-api-key", "k").rest()}}
			return k.id()
		}, more, `,"thread":{"type":"continue","previous_message_id":%q}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, (&fakemodel.Model{Rules: []fakemodel.Rule{{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(list("call_sesame1Xk9Vr3", sesame))}}, Otherwise: fakemodel.Answer{Text: "Hello."}}).Reply)
			alice, bob := tt.begin(w, 1), tt.begin(w, 2)
			post := func(id string) *call {
				return w.post(tt.path, fmt.Sprintf(tt.request, "do it", fmt.Sprintf(tt.refer, id)), "anthropic-version", "2023-06-01", "Authorization", "Bearer k")
			}
			first := post(alice)
			request := w.pending(1)[0]
			first.cancel()
			w.agent(request.ID, approvals.AgentDetached)
			other := post(bob)
			if both := w.pending(2); both[0].ID != request.ID {
				t.Fatal("the first request is gone")
			}
			again := post(alice)
			w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := again.rest(); !strings.Contains(got, "call_sesame1") {
				t.Errorf("the same request again gets %s", got)
			}
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
			if got := other.rest(); strings.Contains(got, "call_sesame1") {
				t.Errorf("the other user gets %s", got)
			}
		})
	}
}
