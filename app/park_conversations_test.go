package app_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// An approval of a parked call passes only in the conversation that has the parked turn.

// talker is an agent in a conversation; each of its messages gets one call, which its answer has if the
// call was released.
type talker func(text string) (released bool, answer string)

// alwaysCalling is a model that makes the same call in each answer, under a new id.
func alwaysCalling() fakemodel.Script {
	var n atomic.Int32
	m := &fakemodel.Model{Rules: []fakemodel.Rule{{When: func(fakemodel.Conversation) bool { return true }, Say: func(fakemodel.Conversation) fakemodel.Answer {
		return list(fmt.Sprintf("call_sesame%dXk9Vr3", n.Add(1)), sesame)
	}}}}
	return m.Reply
}

// manners are the ways in which an agent converses. None names a session in a header.
func manners() map[string]func(w *world) talker {
	all := make(map[string]func(w *world) talker)
	for _, streamed := range []bool{true, false} {
		repeating := func(api fakemodel.API, fields map[string]any) func(*world) talker {
			return func(w *world) talker {
				k := newTalk(w, api, streamed)
				k.session, k.fields = "", fields
				return func(text string) (bool, string) {
					got := k.say(text)
					for _, c := range got.calls {
						k.result(c.ID, "done")
					}
					return len(got.calls) > 0, k.raw
				}
			}
		}
		for _, api := range []fakemodel.API{fakemodel.Chat, fakemodel.Responses, fakemodel.Messages} {
			all[fmt.Sprintf("%s streamed %t", api, streamed)] = repeating(api, nil)
			if !streamed {
				continue
			}
			all[fmt.Sprintf("%s streamed %t, one session_id", api, streamed)] = repeating(api, map[string]any{"metadata": map[string]any{"session_id": "all"}})
			if api != fakemodel.Messages {
				all[fmt.Sprintf("%s streamed %t, one prompt_cache_key", api, streamed)] = repeating(api, map[string]any{"prompt_cache_key": "all"})
			}
		}
		chained := func(conversing bool) func(*world) talker {
			users := 0
			return func(w *world) talker {
				users++ // the scripted model answers equal requests with equal ids
				k := &chainedTalk{w: w, how: fmt.Sprintf(`"stream":%t,"top_p":0.%d`, streamed, users)}
				if conversing {
					k.conv = `,"conversation":` + gjson.Get(w.post("/v1/conversations", fmt.Sprintf(`{"metadata":{"user":"%d"}}`, users)).rest(), "id").Raw
				}
				outputs := ""
				return func(text string) (bool, string) {
					r := k.send(outputs, text)
					outputs = ""
					for _, item := range r.Get("output").Array() {
						if item.Get("type").Str == "function_call" {
							outputs += fmt.Sprintf(`{"type":"function_call_output","call_id":%s,"output":"done"},`, item.Get("call_id").Raw)
						}
					}
					return outputs != "", r.Raw
				}
			}
		}
		all[fmt.Sprintf("previous_response_id streamed %t", streamed)] = chained(false)
		all[fmt.Sprintf("conversation streamed %t", streamed)] = chained(true)
		all[fmt.Sprintf("thread streamed %t", streamed)] = func(w *world) talker {
			k := newThread(w, streamed)
			return func(text string) (bool, string) {
				got := k.say(text)
				for _, c := range got.calls {
					k.result(c.ID, "done")
				}
				return len(got.calls) > 0, k.raw
			}
		}
	}
	return all
}

// Alice and Bob use one key and the same words. Alice's parked call is approved: it passes in her
// conversation, also some messages later, and not in Bob's, who makes the same call.
func TestParkedApprovalStaysInItsConversation(t *testing.T) {
	t.Parallel()
	for name, converse := range manners() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, alwaysCalling(), parks)
			alice, bob := converse(w), converse(w)
			if released, answer := alice("do it"); released {
				t.Fatalf("released unasked: %s", answer)
			}
			first := w.pending(1)[0]
			bob("do it")
			both := w.pending(2) // Bob's call is no part of Alice's request
			if both[0].ID != first.ID {
				t.Fatal("Alice's request is not the first")
			}
			if _, answer := alice("again"); !strings.Contains(answer, first.ID) {
				t.Errorf("Alice's call has another request: %s", answer)
			}
			w.pending(2)
			w.decide(first.ID, approvals.Decision{Action: approvals.ActionApprove})
			if released, answer := bob("again"); released || !strings.Contains(answer, both[1].ID) {
				t.Errorf("Bob has got: %s", answer)
			}
			if released, answer := alice("and now?"); !released {
				t.Errorf("Alice has got: %s", answer)
			}
			w.decide(both[1].ID, approvals.Decision{Action: approvals.ActionApprove})
			if released, answer := alice("once more"); released {
				t.Errorf("Alice has got Bob's call: %s", answer)
			}
			if released, answer := bob("and now?"); !released {
				t.Errorf("Bob has got: %s", answer)
			}
		})
	}
}

// A session that the agents name in heldcall's own header is one conversation, whatever they send of it.
func TestParkedApprovalInANamedSession(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, askAll, alwaysCalling(), parks)
		k := talkTo(w)
		k.say("do it")
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		shortened := talkTo(w)
		if got := shortened.say("go on"); len(got.calls) != 1 {
			t.Errorf("after the history was shortened the agent has got %+v", got)
		}
		other := talkTo(w)
		other.session = "s2"
		other.say("go on")
		w.pending(1)
	})
}
