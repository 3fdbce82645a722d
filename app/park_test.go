package app_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// parks configures a heldcall that parks calls soon.
func parks(c *app.Config) { c.Hold.Mode, c.Hold.ParkAfter = "park", 200*time.Millisecond }

// inOrder is a model that gives answers in an order, the last one again and again.
func inOrder(answers ...fakemodel.Answer) fakemodel.Script {
	var n atomic.Int32
	return func(r *fakemodel.Request) fakemodel.Reply {
		return answers[min(int(n.Add(1)), len(answers))-1].Reply(r)
	}
}

// list is an answer with a call.
func list(id, arguments string) fakemodel.Answer {
	return fakemodel.Answer{Text: "Let me look.", Calls: []fakemodel.Call{{ID: id, Name: "bash", Arguments: arguments}}}
}

const sesame = `{"command":"ls /sesame"}`

// eachTalk runs a test for every API, streamed and whole.
func eachTalk(t *testing.T, test func(t *testing.T, talkTo func(*world) *talk)) {
	for _, api := range []fakemodel.API{fakemodel.Chat, fakemodel.Responses, fakemodel.Messages} {
		for _, streamed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s streamed %t", api, streamed), func(t *testing.T) {
				t.Parallel()
				test(t, func(w *world) *talk { return newTalk(w, api, streamed) })
			})
		}
	}
}

// A chat continues while one of its calls waits for approval. After the approval the call
// passes once, when the model makes it again.
func TestParkedCall(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), fakemodel.Answer{Text: "It waits."}, list("call_sesame2Xk9", sesame), fakemodel.Answer{Text: "Done."}, list("call_sesame3Xk9", sesame)), parks)
		k := talkTo(w)
		first := k.say("do it")
		request := w.pending(1)[0]
		if len(first.calls) > 0 || !strings.Contains(first.text, request.ID) || strings.Contains(first.text, "/sesame") {
			t.Fatalf("the parked answer: %+v", first)
		}
		if second := k.say("what else?"); second.text != "It waits." {
			t.Fatalf("the second answer: %+v", second)
		}
		if body := string(w.upstream.Requests()[1].Body); !strings.Contains(body, "waits for a person's approval") || !strings.Contains(body, "call_sesame1") {
			t.Fatalf("the model does not read that the call waits: %s", body)
		}
		w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove, Note: `It's "fine".`})
		third := k.say("is it approved?")
		body := string(w.upstream.Requests()[2].Body)
		if !strings.Contains(body, "approved since then") || !strings.Contains(body, `It's \"fine\".`) {
			t.Fatalf("the model does not read the approval: %s", body)
		}
		if len(third.calls) != 1 || third.calls[0].ID != "call_sesame2Xk9" {
			t.Fatalf("the approved call is not released: %+v", third)
		}
		k.result("call_sesame2Xk9", "sesame seeds")
		if fourth := k.send(); fourth.text != "Done." {
			t.Fatalf("the fourth answer: %+v", fourth)
		}
		w.pending(0)
		fifth := k.say("again")
		if again := w.pending(1)[0]; again.ID == request.ID || len(fifth.calls) > 0 {
			t.Fatalf("a third call is not asked about: %+v", fifth)
		}
	})
}

// The model reads what became of a parked call.
func TestParkedCallIsDecided(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy   string
		decide   *approvals.Decision // nil: nobody answers
		reads    string              // by the model
		next     string              // arguments of the model's next call
		released bool
	}{
		"denied":                  {policy: askAll, decide: &approvals.Decision{Action: approvals.ActionDeny, Note: "Not on a Friday."}, reads: "Reviewer's note: Not on a Friday.", next: sesame},
		"expired":                 {policy: "rules:\n  - ask: [bash]\n    timeout: 3s\n", reads: "nobody answered in time", next: sesame},
		"approved":                {policy: askAll, decide: &approvals.Decision{Action: approvals.ActionApprove}, reads: "with exactly the same arguments", next: ` { "command" : "ls /sesame" }`, released: true},
		"approved, another call":  {policy: askAll, decide: &approvals.Decision{Action: approvals.ActionApprove}, reads: "approved since then", next: `{"command":"ls /sesame/.."}`},
		"changed":                 {policy: askAll, decide: &approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"ls -l"}`)}, reads: `{\"command\":\"ls -l\"}`, next: `{"command":"ls -l"}`, released: true},
		"changed, the first call": {policy: askAll, decide: &approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"ls -l"}`)}, reads: "changed its arguments", next: sesame},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, tt.policy, inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", tt.next)), parks)
			k := newTalk(w, fakemodel.Chat, true)
			k.say("do it")
			page, err := w.console.Requests(t.Context(), approvals.Filter{})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("%d requests, %v", len(page.Items), err)
			}
			id := page.Items[0].ID
			if tt.decide == nil {
				w.status(id, approvals.StatusExpired)
			} else {
				w.decide(id, *tt.decide)
			}
			got := k.say("and?")
			if body := string(w.upstream.Requests()[1].Body); !strings.Contains(body, tt.reads) {
				t.Errorf("the model reads %s", body)
			}
			if released := len(got.calls) == 1; released != tt.released {
				t.Errorf("released %t: %+v", released, got)
			}
			w.pending(map[bool]int{true: 0, false: 1}[tt.released])
		})
	}
}

// Calls that are allowed beside a parked one are released at once, and later requests have
// the same bytes each time.
func TestParkedCallBesideOthers(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		both := list("call_sesame1Xk9", sesame)
		both.Calls = append(both.Calls, fakemodel.Call{ID: "call_free7Xk9pQ2", Name: "free", Arguments: `{}`})
		w := build(t, "default: ask\nrules:\n  - allow: [free]\n", inOrder(both, fakemodel.Answer{Text: "Good."}), parks)
		k := talkTo(w).withTools("bash", "free")
		first := k.say("do it")
		if len(first.calls) != 1 || first.calls[0].Name != "free" {
			t.Fatalf("%+v", first)
		}
		k.result(first.calls[0].ID, "free result")
		k.send()
		var before string
		for i := range 5 {
			k.say(fmt.Sprintf("message %d", i))
			requests := w.upstream.Requests()
			body := string(requests[len(requests)-1].Body)
			if !strings.Contains(body, "call_sesame1Xk9") || !strings.Contains(body, "waits for a person's approval") {
				t.Fatalf("the model does not read the parked call: %s", body)
			}
			if i > 0 && !strings.HasPrefix(body, before[:strings.Index(before, "message 0")]) {
				t.Fatalf("the bytes before the new message differ:\n%s\n%s", before, body)
			}
			before = body
		}
		w.pending(1)
	})
}

// A rule parks calls with its own notice, and the state survives a restart; another
// session does not see it.
func TestParkedCallOfARule(t *testing.T) {
	t.Parallel()
	var config app.Config
	w := build(t, "default: ask\nrules:\n  - ask: [bash]\n    hold: park\n    notice: \"Wait for {{.Request}}, {{.Tool}}.\"\n", inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", sesame)), func(c *app.Config) {
		c.Hold.ParkAfter = 200 * time.Millisecond
	}, restarting(&config))
	k := newTalk(w, fakemodel.Chat, true)
	first := k.say("do it")
	request := w.pending(1)[0]
	if want := "Wait for " + request.ID + ", bash."; !strings.Contains(first.text, want) {
		t.Errorf("the notice is %q, want %q", first.text, want)
	}
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.start(config)
	other := newTalk(w, fakemodel.Chat, true)
	other.session = "s2"
	if got := other.say("do it"); len(got.calls) > 0 {
		t.Errorf("another session uses the approval: %+v", got)
	}
	if got := k.say("and now?"); len(got.calls) != 1 {
		t.Errorf("after a restart: %+v", got)
	}
}

// A client that announces how long it waits gets its answer before that.
func TestParkedCallOfAnImpatientClient(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"X-Stainless-Read-Timeout", "X-Stainless-Timeout"} {
		w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame)), func(c *app.Config) { c.Hold.Mode = "park" })
		answer := w.post("/v1/chat/completions", streamedRequest, header, "2").rest()
		if id := w.pending(1)[0].ID; !strings.Contains(answer, id) {
			t.Errorf("%s: %s", header, answer)
		}
	}
}

// The same call joins the open request: people are asked once, and their decision while
// the later answer waits releases the call in it.
func TestParkedCallIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", sesame), list("call_sesame3Xk9", sesame)), parks)
		k := talkTo(w)
		k.say("do it")
		first := w.pending(1)[0]
		if second := k.say("and?"); len(second.calls) > 0 || !strings.Contains(second.text, first.ID) {
			t.Fatalf("the same call again: %+v", second)
		}
		w.pending(1)
		w.decide(first.ID, approvals.Decision{Action: approvals.ActionApprove})
		if third := k.say("now?"); len(third.calls) != 1 {
			t.Errorf("the third answer: %+v", third)
		}
		page, err := w.console.Requests(t.Context(), approvals.Filter{})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("people were asked %d times, %v", len(page.Items), err)
		}
	})
}

// A decision while a later answer waits for the open request releases the call in that.
func TestParkedCallIsDecidedInALaterAnswer(t *testing.T) {
	t.Parallel()
	w := build(t, "rules:\n  - ask: [bash]\n    hold: park\n", inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", sesame)), func(c *app.Config) { c.Hold.ParkAfter = 5 * time.Second })
	k := newTalk(w, fakemodel.Chat, true)
	k.patience = "1" // parked at once
	k.say("do it")
	first := w.pending(1)[0]
	k.patience = ""
	second := make(chan read, 1)
	go func() { second <- k.say("and?") }()
	if _, err := w.upstream.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	w.decide(first.ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := <-second; len(got.calls) != 1 {
		t.Errorf("%+v", got)
	}
}

// The request of a parked turn shows so, and its decision wakes an orchestrator.
func TestParkedTurnBecomesReady(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame)), parks)
	newTalk(w, fakemodel.Chat, true).say("do it")
	request := w.pending(1)[0]
	w.agent(request.ID, approvals.AgentParked)
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
	w.event(string(approvals.EventTurnReady))
	if parked := w.eventsOf(approvals.EventTurnParked); len(parked) != 1 || parked[0].RequestID != request.ID {
		t.Errorf("parked: %+v", parked)
	}
	if ready := w.eventsOf(approvals.EventTurnReady); len(ready) != 1 || ready[0].TurnID != request.TurnID {
		t.Errorf("ready: %+v", ready)
	}
}

// The result of a parked call that the model has made again, with another id, is shown with
// its request, also if the agent reports it after a restart.
func TestParkedCallHasAResult(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		var config app.Config
		w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", sesame), fakemodel.Answer{Text: "I see."}), parks, restarting(&config))
		k := newTalk(w, fakemodel.Chat, true)
		k.say("do it")
		request := w.pending(1)[0]
		w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
		again := k.say("and now?")
		if len(again.calls) != 1 {
			t.Fatalf("after the approval: %+v", again)
		}
		released := func(ok func(*approvals.CallResult) bool) func() bool {
			return func() bool {
				r, err := w.console.Request(t.Context(), request.ID)
				return err == nil && r.Details.Result != nil && ok(r.Details.Result)
			}
		}
		w.until("the release is recorded", released(func(r *approvals.CallResult) bool { return r.ToolCallID == "call_sesame2Xk9" }))
		if restarted {
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			w.start(config)
		}
		k.result(again.calls[0].ID, "a.txt")
		k.send()
		w.until("the result is recorded", released(func(r *approvals.CallResult) bool {
			return r.ReceivedAt != nil && r.Preview == "a.txt" && r.NextText == "I see."
		}))
	}
}
