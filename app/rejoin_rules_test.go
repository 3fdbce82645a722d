package app_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// reply is what an agent got: an answer, or the error that ended its connection.
type reply struct {
	turn string
	body string
	err  error
}

// begin sends a request beside the test.
func (w *world) begin(path, body string, header ...string) <-chan reply {
	replies := make(chan reply, 1)
	go func() {
		c, err := w.tryPost(path, body, header...)
		if err != nil {
			replies <- reply{err: err}
			return
		}
		got, err := io.ReadAll(c.reader)
		replies <- reply{c.resp.Header.Get("X-Heldcall-Turn"), string(got), err}
	}()
	return replies
}

// approve approves all n pending requests.
func (w *world) approve(n int) {
	w.t.Helper()
	for _, r := range w.pending(n) {
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	}
}

// An equal request is a second turn while the agent of the first waits. One that is
// declared to be a repetition takes the turn over: the first connection ends without the
// end of an answer, and releases nothing.
func TestRejoinWhileTheAgentWaits(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		w := build(t, askAll, lister().Reply, comments)
		body := s.body(streamed)
		first := w.begin(s.path, body, s.header...)
		held := w.pending(1)[0]
		second := w.begin(s.path, body, s.header...)
		w.pending(2)
		w.approve(2)
		a, b := <-first, <-second
		if a.err != nil || b.err != nil || a.turn != held.TurnID || a.turn == b.turn {
			t.Errorf("turns %q and %q, %v, %v", a.turn, b.turn, a.err, b.err)
		}

		body = strings.Replace(body, `"m"`, `"m2"`, 1)
		first = w.begin(s.path, body, s.header...)
		held = w.pending(1)[0]
		second = w.begin(s.path, body, append(retried, s.header...)...)
		if a = <-first; secretOf(a.body) != "" || (a.err == nil && !strings.Contains(a.body, "error")) {
			t.Errorf("the first connection got %q, %v", a.body, a.err)
		}
		w.approve(1)
		if b = <-second; b.err != nil || b.turn != held.TurnID || !strings.Contains(b.body, "call_sesame") {
			t.Errorf("the second connection got %q in turn %s, %v", b.body, b.turn, b.err)
		}
		if n := len(w.upstream.Requests()); n != 3 {
			t.Errorf("upstream got %d requests", n)
		}
	})
}

// Of several requests at the same time one continues the turn.
func TestRejoinAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, lister().Reply, comments)
	s := speeches[0]
	held := w.detached(s, s.body(true))
	const agents = 4
	var replies []<-chan reply
	for range agents {
		replies = append(replies, w.begin(s.path, s.body(true)))
	}
	w.pending(agents) // one of them is that of the held turn
	w.approve(agents)
	joined := 0
	for _, r := range replies {
		got := <-r
		if got.err != nil || !strings.Contains(got.body, "call_sesame") {
			t.Errorf("%q, %v", got.body, got.err)
		}
		if got.turn == held.TurnID {
			joined++
		}
	}
	if joined != 1 || len(w.upstream.Requests()) != agents {
		t.Errorf("%d requests continued the turn, upstream got %d", joined, len(w.upstream.Requests()))
	}
}

// Agents with equal requests and no evidence never get the answer of each other: a turn is
// not continued if there was a second one like it.
func TestRejoinNeverMixesAgents(t *testing.T) {
	t.Parallel()
	for _, s := range speeches {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, lister().Reply, comments)
			body := s.body(true)
			leaveA, leaveB := w.ask(s.path, body, s.header...), w.ask(s.path, body, s.header...)
			both := w.pending(2)
			leaveA()
			leaveB()
			for _, r := range both {
				w.agent(r.ID, approvals.AgentDetached)
			}
			again := w.begin(s.path, body, s.header...)
			asked := w.pending(3)
			w.decide(asked[2].ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := <-again; got.err != nil || got.turn == both[0].TurnID || got.turn == both[1].TurnID {
				t.Errorf("it got the answer of turn %s, %v", got.turn, got.err)
			}
			// One of them gets its answer, and still another may be meant.
			kept := w.begin(s.path, body, append(retried, s.header...)...)
			w.decide(both[0].ID, approvals.Decision{Action: approvals.ActionApprove})
			w.decide(both[1].ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := <-kept; got.err != nil || (got.turn != both[0].TurnID && got.turn != both[1].TurnID) {
				t.Errorf("a repetition got the answer of turn %s, %v", got.turn, got.err)
			}
			fresh := w.begin(s.path, body, s.header...)
			w.approve(1)
			if got := <-fresh; got.err != nil || got.turn == both[0].TurnID || got.turn == both[1].TurnID {
				t.Errorf("it got the answer of turn %s, %v", got.turn, got.err)
			}
		})
	}
}

// Only an equal request of the same agent continues a turn, even if another request is
// declared to be a repetition.
func TestRejoinOnlyTheSame(t *testing.T) {
	t.Parallel()
	for _, s := range speeches {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, lister().Reply, comments, func(c *app.Config) { c.Proxy.TrustHeaders = true })
			body := s.body(true)
			headers := append([]string{"Authorization", "Bearer one", "X-Heldcall-Session", "s", "X-Heldcall-User", "ann"}, s.header...)
			held := w.detached(s, body, headers...)
			with := func(name, value string) []string {
				changed := slices.Clone(headers)
				if i := slices.Index(changed, name); i >= 0 {
					changed[i+1] = value
					return changed
				}
				return append(changed, name, value)
			}
			for name, other := range map[string]struct {
				body    string
				headers []string
			}{
				"API key": {body, with("Authorization", "Bearer two")}, "session": {body, with("X-Heldcall-Session", "t")}, "user": {body, with("X-Heldcall-User", "bob")},
				"agent": {body, with("X-Heldcall-Agent", "a")}, "tenant": {body, with("X-Heldcall-Tenant", "t")}, "run": {body, with("X-Heldcall-Run", "r")},
				"model": {strings.Replace(body, `"m"`, `"n"`, 1), headers}, "tools": {strings.Replace(body, `"object"`, `"object","title":"x"`, 1), headers},
				"stream": {strings.Replace(body, `"stream":true`, `"stream":false`, 1), headers},
			} {
				got := w.begin(s.path, other.body, append(other.headers, retried...)...)
				asked := w.pending(2)
				w.decide(asked[1].ID, approvals.Decision{Action: approvals.ActionApprove})
				if r := <-got; r.err != nil || r.turn == held.TurnID {
					t.Errorf("a request with another %s got the answer of turn %s, %v", name, r.turn, r.err)
				}
			}
			w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
			if r := <-w.begin(s.path, strings.Replace(body, `{"model"`, `{"temperature":1,"model"`, 1), headers...); r.err != nil || r.turn != held.TurnID {
				t.Errorf("the agent got the answer of turn %s, %v", r.turn, r.err)
			}
		})
	}
}

// What proves that a request is a repetition: a key, ids of upstream in the history.
func TestRejoinByEvidence(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Text: "Let me look.", Calls: []fakemodel.Call{lsCall}}.Reply(r)
	}, comments)
	const made = `{"model":"m","messages":[{"role":"user","content":"do it"},{"role":"assistant","tool_calls":[{"id":"call_Vr3xkQ0pLm7bTz91","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_Vr3xkQ0pLm7bTz91","content":"x"}]}`
	s := speeches[0]
	for name, tt := range map[string]struct {
		body   string
		header []string
	}{
		"a key": {s.body(true), []string{"Idempotency-Key", "k"}}, "ids of upstream": {made, nil},
	} {
		leave := [2]func(){}
		for i := range leave {
			leave[i] = w.ask(s.path, tt.body, slices.Concat(tt.header, []string{"X-Forwarded-For", fmt.Sprint(i)})...)
			w.pending(i + 1)
			tt.header = slices.Clone(tt.header)
			if len(tt.header) > 0 && i == 0 {
				tt.header[1] = "another"
			}
		}
		held := w.pending(2)
		for i := range leave {
			leave[i]()
			w.agent(held[i].ID, approvals.AgentDetached)
		}
		for i := range 2 {
			header := tt.header
			if len(header) > 0 && i == 0 {
				header = []string{"Idempotency-Key", "k"}
			}
			got := w.begin(s.path, tt.body, header...)
			w.decide(held[i].ID, approvals.Decision{Action: approvals.ActionApprove})
			if r := <-got; r.err != nil || r.turn != held[i].TurnID {
				t.Errorf("%s: turn %s, want %s, %v", name, r.turn, held[i].TurnID, r.err)
			}
			w.until("it has ended", func() bool { r, err := w.console.Request(t.Context(), held[i].ID); return err == nil && r.Agent == nil })
		}
	}
}

// A held turn ends when its conversation continues without it.
func TestConversationContinuesWithoutAHeldTurn(t *testing.T) {
	t.Parallel()
	for _, s := range speeches {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, lister().Reply, comments)
			body := s.body(true)
			held := w.detached(s, body)
			more := strings.Replace(body, `{"role":"user","content":"do it"}`, `{"role":"user","content":"do it"},{"role":"assistant","content":"(no answer)"},{"role":"user","content":"go on"}`, 1)
			more = strings.Replace(more, `"input":"do it"`, `"input":[{"role":"user","content":"do it"},{"role":"assistant","content":"(no answer)"},{"role":"user","content":"go on"}]`, 1)
			if got := <-w.begin(s.path, strings.Replace(more, "go on", "go on, but elsewhere", 1), "X-Heldcall-Session", "other"); got.err != nil {
				t.Fatal(got.err)
			}
			w.agent(held.ID, approvals.AgentDetached)
			if got := <-w.begin(s.path, more, s.header...); got.err != nil || secretOf(got.body) != "" {
				t.Fatalf("%q, %v", got.body, got.err)
			}
			if r := w.status(held.ID, approvals.StatusCancelled); r.Details.CancelReason != approvals.CancelAgentGone {
				t.Errorf("cancelled because %q", r.Details.CancelReason)
			}
		})
	}
}

// heldcall stops and starts again while a call is held.
func TestRejoinAfterARestart(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		var config app.Config
		w := build(t, askAll, lister().Reply, comments, restarting(&config))
		w.begin(s.path, s.body(streamed), s.header...)
		held := w.pending(1)[0]
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		config.Proxy.Heartbeat = "comment"
		w.start(config)
		got := w.begin(s.path, s.body(streamed), append(retried, s.header...)...)
		w.agent(held.ID, approvals.AgentAttached)
		w.approve(1)
		if r := <-got; r.err != nil || r.turn != held.TurnID || !strings.Contains(r.body, "call_sesame") {
			t.Errorf("turn %s, %q, %v", r.turn, r.body, r.err)
		}
		if n := len(w.upstream.Requests()); n != 1 {
			t.Errorf("upstream got %d requests", n)
		}
	})
}

// A run that a reviewer stops while its turn has no agent releases nothing.
func TestPromise1_NoLeak_OfDetachedTurns(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		w := build(t, askAll, lister().Reply, comments)
		held := w.detached(s, s.body(streamed))
		back := w.begin(s.path, s.body(streamed), append(retried, s.header...)...)
		w.agent(held.ID, approvals.AgentAttached)
		w.decide(held.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
		if r := <-back; r.err != nil || secretOf(r.body) != "" || !strings.Contains(r.body, "Unde") {
			t.Errorf("%q, %v", r.body, r.err)
		}
		held = w.detached(s, strings.Replace(s.body(streamed), `"m"`, `"m2"`, 1))
		if _, err := w.console.Runs().Signal(t.Context(), approvals.Signal{RunID: held.RunID, Action: approvals.SignalAbort}); err != nil {
			t.Fatal(err)
		}
		w.status(held.ID, approvals.StatusCancelled)
		back = w.begin(s.path, strings.Replace(s.body(streamed), `"m"`, `"m2"`, 1), append(retried, s.header...)...)
		if r := <-back; r.err != nil || secretOf(r.body) != "" {
			t.Errorf("%q, %v", r.body, r.err)
		}
	})
}
