package app_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// callsTwice is a model that calls bash, and after a denial calls it again with other
// arguments.
func callsTwice() *fakemodel.Model {
	return &fakemodel.Model{Rules: []fakemodel.Rule{
		{When: fakemodel.ToolAnswers("bash", "second"), Say: fakemodel.Say(fakemodel.Answer{Text: "Understood."})},
		{When: fakemodel.ToolAnswers("bash", ""), Say: fakemodel.Say(fakemodel.Answer{Text: "Then so.", Calls: []fakemodel.Call{{ID: "call_second", Name: "bash", Arguments: `{"command":"pwd"}`}}})},
		{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(fakemodel.Answer{Text: "Let me look.", Calls: []fakemodel.Call{lsCall}})},
	}}
}

// A call is denied, the model calls again, and the agent breaks off while that call is
// held: it comes back for the decision on the second call, and nothing of the first is
// asked or sent again.
func TestRejoinAfterAContinuation(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		var want string
		for _, breaks := range []bool{false, true} {
			w := build(t, askAll, callsTwice().Reply, comments)
			body := s.body(streamed)
			leave := func() {}
			var got <-chan reply
			if breaks {
				leave = w.ask(s.path, body, s.header...)
			} else {
				got = w.begin(s.path, body, s.header...)
			}
			first := w.pending(1)[0]
			w.decide(first.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
			w.until("the second call is held", func() bool {
				p, err := w.console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
				return err == nil && len(p.Items) == 1 && p.Items[0].ID != first.ID
			})
			second := w.pending(1)[0]
			if breaks {
				leave()
				w.agent(second.ID, approvals.AgentDetached)
				got = w.begin(s.path, body, append(retried, s.header...)...)
				w.agent(second.ID, approvals.AgentAttached)
			}
			w.decide(second.ID, approvals.Decision{Action: approvals.ActionApprove})
			r := <-got
			if r.err != nil || !strings.Contains(r.body, "call_second") || secretOf(r.body) != "" {
				t.Fatalf("%q, %v", r.body, r.err)
			}
			if !breaks {
				want = withoutHeartbeats(r.body)
				continue
			}
			if body := withoutHeartbeats(r.body); body != want {
				t.Errorf("got\n%s\nwant\n%s", body, want)
			}
			if n := len(w.upstream.Requests()); n != 2 {
				t.Errorf("upstream got %d requests", n)
			}
			denied := slices.DeleteFunc(w.audited(), func(typ string) bool { return typ != "call_denied" })
			if len(denied) != 1 {
				t.Errorf("the denial is in the audit log %d times", len(denied))
			}
		}
	})
}

// The agent breaks off while the model continues after a denial: heldcall asks the model
// for the continuation again, and people nothing.
func TestRejoinDuringAContinuation(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		var stalled atomic.Bool
		model := lister()
		w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
			reply := model.Reply(r)
			if strings.Contains(string(r.Body), "call_sesame") && !stalled.Swap(true) {
				reply.Body = reply.Body[:1]
				if !streamed {
					reply.Body[0].Bytes = reply.Body[0].Bytes[:10]
				}
				reply.End = fakemodel.EndStall
			}
			return reply
		}, comments)
		leave := w.ask(s.path, s.body(streamed), s.header...)
		held := w.pending(1)[0]
		w.decide(held.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
		w.until("the model continues", stalled.Load)
		leave()
		w.agent(held.ID, approvals.AgentDetached)
		got := <-w.begin(s.path, s.body(streamed), append(retried, s.header...)...)
		if got.err != nil || got.turn != held.TurnID || !strings.Contains(got.body, "Unde") || secretOf(got.body) != "" {
			t.Errorf("turn %s, %q, %v", got.turn, got.body, got.err)
		}
		if n := len(w.upstream.Requests()); n != 3 {
			t.Errorf("upstream got %d requests", n)
		}
		if n := len(slices.DeleteFunc(w.audited(), func(typ string) bool { return typ != "call_denied" })); n != 1 {
			t.Errorf("the denial is in the audit log %d times", n)
		}
	})
}
