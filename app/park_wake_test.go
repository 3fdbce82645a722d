package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// patientModel calls bash, again when it reads that the call was approved, and ends when it
// has a result or a refusal.
func patientModel() *fakemodel.Model {
	reads := func(role, text string) func(fakemodel.Conversation) bool {
		return func(c fakemodel.Conversation) bool {
			for _, m := range c.Messages {
				if m.Role == role && strings.Contains(m.Content, text) {
					return true
				}
			}
			return false
		}
	}
	return &fakemodel.Model{Rules: []fakemodel.Rule{
		{When: reads("tool", "sesame seeds"), Say: fakemodel.Say(fakemodel.Answer{Text: "Done."})},
		{When: reads("tool", "approved since then"), Say: fakemodel.Say(list("call_sesame2Xk9", sesame))},
		{When: reads("tool", "refused this call"), Say: fakemodel.Say(fakemodel.Answer{Text: "Then not."})},
		{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(list("call_sesame1Xk9", sesame))},
	}, Otherwise: fakemodel.Answer{Text: "It waits."}}
}

// run sends a message of the user and runs all calls, until the model calls nothing.
func (k *talk) run(message string) (last read, ran int) {
	k.w.t.Helper()
	for last = k.say(message); len(last.calls) > 0; last = k.send() {
		for _, c := range last.calls {
			k.result(c.ID, "sesame seeds")
			ran++
		}
	}
	return last, ran
}

// The run of an unattended agent ends with the notice. An orchestrator gets turn_ready by its
// webhook after the decision, starts the agent of that session again with its conversation,
// and the agent ends its task: the approved call runs once.
func TestParkedAgentIsWokenByAWebhook(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		decision approvals.Decision
		ends     string
		runs     int
	}{
		"approved": {approvals.Decision{Action: approvals.ActionApprove}, "Done.", 1},
		"denied":   {approvals.Decision{Action: approvals.ActionDeny}, "Then not.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
				ready := make(chan hookMessage, 10)
				w := build(t, askAll, patientModel().Reply, parks, hooked(t, func(m hookMessage) {
					if m.Type == string(approvals.EventTurnReady) {
						ready <- m
					}
				}))
				agents := make(map[string]*talk) // of the orchestrator, by session
				for _, session := range []string{"nightly-1", "nightly-2"} {
					k := talkTo(w)
					k.session, agents[session] = session, k
					request := ""
					if last, ran := k.run("do it"); ran == 0 {
						for _, r := range w.pending(len(agents)) {
							if r.SessionID == session {
								request = r.ID
							}
						}
						if request == "" || !strings.Contains(last.text, request) {
							t.Fatalf("the run of %s ends with %+v", session, last)
						}
					}
				}
				for _, r := range w.pending(2) {
					if r.SessionID == "nightly-2" {
						w.decide(r.ID, tt.decision)
					}
				}
				var m hookMessage
				select {
				case m = <-ready:
				case <-time.After(soon):
					t.Fatal("the webhook gets no turn_ready")
				}
				if m.Data.Request.SessionID != "nightly-2" {
					t.Fatalf("turn_ready is about %+v", m.Data.Request)
				}
				last, ran := agents[m.Data.Request.SessionID].run("go on")
				if last.text != tt.ends || ran != tt.runs {
					t.Errorf("%d calls ran, and the agent ends with %+v", ran, last)
				}
				if left := w.pending(1)[0]; left.SessionID != "nightly-1" || len(ready) > 0 {
					t.Errorf("the other agent: %+v, %d more messages", left, len(ready))
				}
			})
		})
	}
}
