package app_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// delivered is a request whose held call was approved, and whose agent has got the whole answer.
func (w *world) delivered(s speech, body string, header ...string) (held approvals.Request, answer reply) {
	w.t.Helper()
	got := w.begin(s.path, body, append(header, s.header...)...)
	held = w.pending(1)[0]
	w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
	if answer = <-got; answer.err != nil || !strings.Contains(answer.body, "call_sesame") {
		w.t.Fatalf("%q, %v", answer.body, answer.err)
	}
	w.until("the delivery is recorded", func() bool { r, err := w.console.Request(w.t.Context(), held.ID); return err == nil && r.Agent == nil })
	return held, answer
}

// released returns how often call_released was recorded, and how often of them for an agent that had
// the call before.
func (w *world) released() (all, again int) {
	for _, e := range w.eventsOf(approvals.EventCallReleased) {
		if all++; e.Again {
			again++
		}
	}
	return all, again
}

// A client that has not got the answer, though it was sent whole, repeats its request. It gets the same
// answer: people are not asked again, and neither is the model.
func TestPromise12_AskedOnce_AfterDelivery(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		w := build(t, askAll, lister().Reply, comments)
		body := s.body(streamed)
		held, first := w.delivered(s, body)
		for n := range 2 {
			again := <-w.begin(s.path, body, append(retried, s.header...)...)
			if again.err != nil || again.turn != held.TurnID || withoutHeartbeats(again.body) != withoutHeartbeats(first.body) {
				t.Errorf("got %q in turn %s, %v; want %q", again.body, again.turn, again.err, first.body)
			}
			if all, marked := w.released(); all != n+2 || marked != n+1 {
				t.Errorf("%d releases are recorded, %d of them again", all, marked)
			}
		}
		if n := len(w.upstream.Requests()); n != 1 {
			t.Errorf("upstream got %d requests", n)
		}
		w.pending(0)
		for _, typ := range w.audited() {
			if strings.HasPrefix(typ, "turn_") {
				t.Errorf("event %s of an agent that has not left", typ)
			}
		}
	})
}

// A delivered answer is given to no other agent, and not once its calls may have run, or may not run any
// more.
func TestNotAgainAfterDelivery(t *testing.T) {
	t.Parallel()
	type again struct {
		body   string
		header []string
		from   string
	}
	for name, tt := range map[string]struct {
		before func(t *testing.T, w *world, s speech, held approvals.Request) // the repetition
		change func(a *again)
		asked  int // pending requests after it
		code   string
	}{
		"not declared":    {change: func(a *again) { a.header = nil }, asked: 1},
		"another address": {change: func(a *again) { a.from = "127.0.0.2" }, asked: 1},
		"another key":     {change: func(a *again) { a.header = append(a.header, "X-Api-Key", "other", "Authorization", "Bearer other") }, asked: 1},
		"another session": {change: func(a *again) { a.header = append(a.header, "X-Heldcall-Session", "s") }, asked: 1},
		"another thread":  {change: func(a *again) { a.header = append(a.header, "thread-id", "t") }, asked: 1},
		"another field":   {change: func(a *again) { a.body = strings.Replace(a.body, `{"model"`, `{"user":"bob","model"`, 1) }, asked: 1},
		"another model":   {change: func(a *again) { a.body = strings.Replace(a.body, `"m"`, `"n"`, 1) }, asked: 1},
		"its result was seen": {before: func(_ *testing.T, w *world, s speech, _ approvals.Request) {
			<-w.begin(s.path, withResult(s), s.header...)
		}, asked: 1},
		"its result was seen in another session": {before: func(_ *testing.T, w *world, s speech, _ approvals.Request) {
			<-w.begin(s.path, strings.Replace(withResult(s), "do it", "do something", 1), append([]string{"X-Heldcall-Session", "other"}, s.header...)...)
		}, asked: 1},
		"its run was stopped": {before: func(t *testing.T, w *world, _ speech, held approvals.Request) {
			if _, err := w.console.Runs().Signal(t.Context(), approvals.Signal{RunID: held.RunID, Action: approvals.SignalAbort}); err != nil {
				t.Fatal(err)
			}
		}, code: "run_aborted"},
		"a deny grant": {before: func(t *testing.T, w *world, _ speech, held approvals.Request) {
			if _, err := w.console.AddGrant(t.Context(), approvals.Grant{Effect: approvals.GrantDeny, Principal: held.Principal, Scope: approvals.GrantTenant, Patterns: []string{"bash(ls *)"}}); err != nil {
				t.Fatal(err)
			}
		}},
		"a deny rule": {before: func(t *testing.T, w *world, _ speech, _ approvals.Request) {
			if err := os.WriteFile(w.policyFile, []byte("default: ask\nrules:\n  - deny: [\"bash(ls *)\"]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			w.until("the policy is read", func() bool { return len(w.eventsOf(approvals.EventPolicyChanged)) > 1 })
		}},
	} {
		for _, s := range []speech{speeches[0], speeches[2], speeches[len(speeches)-1]} {
			t.Run(name+", "+s.name, func(t *testing.T) {
				t.Parallel()
				w := build(t, askAll, lister().Reply, comments)
				held, _ := w.delivered(s, s.body(true))
				a := again{s.body(true), retried, ""}
				if tt.before != nil {
					tt.before(t, w, s, held)
				}
				if tt.change != nil {
					tt.change(&a)
				}
				upstream := len(w.upstream.Requests())
				header := append(append([]string{}, s.header...), a.header...)
				got := w.beginFrom(a.from, s.path, a.body, header...)
				for _, r := range w.pending(tt.asked) {
					w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
				}
				r := <-got
				if r.err != nil || r.turn == held.TurnID || secretOf(r.body) != "" || !strings.Contains(r.body, tt.code) {
					t.Errorf("got %q in turn %s, %v", r.body, r.turn, r.err)
				}
				if first, _, _ := strings.Cut(r.body, "\n\n"); strings.Count(r.body, first) != 1 {
					t.Errorf("the answer begins twice: %q", r.body)
				}
				if n := len(w.upstream.Requests()); n == upstream && tt.code == "" {
					t.Error("upstream was not asked")
				}
				if _, marked := w.released(); marked > 0 {
					t.Error("a call was released again")
				}
			})
		}
	}
}

// withResult is a request with the result of the call, after which the model says something.
func withResult(s speech) string {
	switch {
	case strings.HasSuffix(s.path, "/chat/completions"):
		return strings.Replace(s.body(true), `"do it"}`, `"do it"},{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_sesame","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls -la /opensesame\"}"}}]},{"role":"tool","tool_call_id":"call_sesame","content":"x"}`, 1)
	case strings.HasSuffix(s.path, "/messages"):
		return strings.Replace(s.body(true), `"do it"}`, `"do it"},{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"call_sesame","name":"bash","input":{"command":"ls -la /opensesame"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_sesame","content":"x"}]}`, 1)
	}
	return strings.Replace(s.body(true), `"do it"}`, `"do it"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]},{"type":"function_call","call_id":"call_sesame","name":"bash","arguments":"{\"command\":\"ls -la /opensesame\"}"},{"type":"function_call_output","call_id":"call_sesame","output":"x"}`, 1)
}

// A call that a grant has allowed beside the held one is judged again.
func TestNotAgainWithARevokedGrant(t *testing.T) {
	t.Parallel()
	both := fakemodel.Answer{Calls: []fakemodel.Call{lsCall, {ID: "call_free7Xk9pQ2", Name: "bash", Arguments: `{"command":"pwd"}`}}}
	for _, revoked := range []bool{false, true} {
		w := build(t, askAll, inOrder(both), comments)
		s := speeches[0]
		g, err := w.console.AddGrant(t.Context(), approvals.Grant{Effect: approvals.GrantAllow, Principal: approvals.Principal{Tenant: "default"}, Scope: approvals.GrantTenant, Patterns: []string{"bash(pwd)"}})
		if err != nil {
			t.Fatal(err)
		}
		held, _ := w.delivered(s, s.body(true))
		if revoked {
			if _, err := w.console.RevokeGrant(t.Context(), g.ID); err != nil {
				t.Fatal(err)
			}
		}
		got := w.begin(s.path, s.body(true), retried...)
		if revoked {
			w.pending(2)
			w.approve(2)
		}
		if r := <-got; r.err != nil || (r.turn == held.TurnID) == revoked {
			t.Errorf("revoked %t: got %q in turn %s, %v", revoked, r.body, r.turn, r.err)
		}
	}
}

// A call that a rule has allowed by its tool's name beside the held one is judged again: nothing of it reaches the
// agent once no rule allows the tool.
func TestNotAgainWithACallAllowedByName(t *testing.T) {
	t.Parallel()
	look := fakemodel.Call{ID: "call_look7Xk9pQ2mR", Name: "look", Arguments: `{"at":"it"}`}
	const allowed = "default: ask\nrules:\n  - allow: [look]\n"
	for name, tt := range map[string]struct {
		rules string
		again bool
	}{
		"the same rules": {rules: allowed + "  - allow: [other]\n", again: true},
		"a deny rule":    {rules: allowed + "  - deny: [look]\n"},
		"no allow rule":  {rules: "default: ask\n"},
		"a rewrite rule": {rules: allowed + "  - rewrite: [look]\n    set: {at: args.at + \"!\"}\n"},
	} {
		for _, s := range []speech{speeches[0], speeches[2], speeches[len(speeches)-1]} {
			t.Run(name+", "+s.name, func(t *testing.T) {
				t.Parallel()
				w := build(t, allowed, inOrder(fakemodel.Answer{Calls: []fakemodel.Call{look, lsCall}}, fakemodel.Answer{Text: "Understood."}), comments)
				body := strings.NewReplacer(`"tools":[`, `"tools":[`+strings.Replace(toolOf(s), "bash", "look", 1)+",").Replace(s.body(true))
				held, first := w.delivered(s, body)
				if !strings.Contains(first.body, look.ID) {
					t.Fatalf("got %q", first.body)
				}
				if err := os.WriteFile(w.policyFile, []byte(tt.rules), 0o600); err != nil {
					t.Fatal(err)
				}
				w.until("the policy is read", func() bool { return len(w.eventsOf(approvals.EventPolicyChanged)) > 1 })
				r := <-w.begin(s.path, body, append(retried, s.header...)...)
				if again := strings.Contains(r.body, look.ID); r.err != nil || again != tt.again || (r.turn == held.TurnID) != tt.again {
					t.Errorf("got %q in turn %s, %v", r.body, r.turn, r.err)
				}
				if begin, _, _ := strings.Cut(r.body, "\n\n"); strings.Count(r.body, begin) != 1 {
					t.Errorf("the answer begins twice: %q", r.body)
				}
			})
		}
	}
}

// toolOf is the tool that a request offers.
func toolOf(s speech) string { return gjson.Get(s.body(true), "tools.0").Raw }

// What was delivered is in the store: heldcall may start again, and another replica may get the
// repetition.
func TestPromise12_AskedOnce_AfterDeliveryAndARestart(t *testing.T) {
	t.Parallel()
	for _, s := range []speech{speeches[0], speeches[len(speeches)-1]} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var config app.Config
			w := build(t, askAll, lister().Reply, comments, restarting(&config))
			held, first := w.delivered(s, s.body(true))
			w.restart(config)
			again := <-w.begin(s.path, s.body(true), append(retried, s.header...)...)
			if again.err != nil || again.turn != held.TurnID || withoutHeartbeats(again.body) != withoutHeartbeats(first.body) {
				t.Errorf("got %q in turn %s, %v", again.body, again.turn, again.err)
			}
			if _, marked := w.released(); marked != 1 || len(w.upstream.Requests()) != 1 {
				t.Errorf("%d releases again, upstream got %d requests", marked, len(w.upstream.Requests()))
			}
		})
	}
}

func TestPromise12_AskedOnce_AfterDeliveryByAnotherReplica(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(soon) {
		t.Fatal("the NATS server does not start")
	}
	model := lister()
	upstream, err := fakemodel.New(model.Reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	replica := func() *world {
		return build(t, askAll, model.Reply, comments, func(c *app.Config) { c.NATS.URL = srv.ClientURL(); c.Proxy.Upstreams[0].URL = upstream.URL() })
	}
	one, two := replica(), replica()
	for i, seen := range []bool{false, true} {
		s := speeches[0]
		body := strings.Replace(s.body(true), `"m"`, fmt.Sprintf(`"m%d"`, i), 1)
		held, first := one.delivered(s, body)
		if seen {
			<-two.begin(s.path, strings.Replace(withResult(s), `"m"`, fmt.Sprintf(`"m%d"`, i), 1))
		}
		got := two.begin(s.path, body, retried...)
		if seen {
			one.approve(1)
		}
		if again := <-got; again.err != nil || (again.turn == held.TurnID) == seen || (!seen && withoutHeartbeats(again.body) != withoutHeartbeats(first.body)) {
			t.Errorf("seen %t: got %q in turn %s, %v", seen, again.body, again.turn, again.err)
		}
	}
}

// Equal questions of one answer are one question to people, and each call gets the answer.
func TestEqualQuestionsAreAskedOnce(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		for name, tt := range map[string]struct {
			second string
			asked  int
		}{
			"equal":            {howSesame, 1},
			"equal, respelled": {` { "question" : "How much sesame?" } `, 1},
			"another":          {`{"question":"How much salt?"}`, 2},
		} {
			w := build(t, offersAll+allowAll, inOrder(asking("request_clarification", howSesame, "request_clarification", tt.second), fakemodel.Answer{Text: "I see."}), comments)
			k := talkTo(w).withTools("bash")
			answer := k.begin("do it")
			for _, r := range w.pending(tt.asked) {
				w.decide(r.ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "a handful of it"}})
			}
			if got := <-answer; got.text == "" || len(got.calls) > 0 || leakOfQuestions(got.text) != "" {
				t.Errorf("%s: the agent got %+v", name, got)
			}
			requests := w.upstream.Requests()
			if body := string(requests[len(requests)-1].Body); strings.Count(body, "a handful of it") != 2 {
				t.Errorf("%s: the model reads %s", name, body)
			}
			if n := len(w.eventsOf(approvals.EventQuestionAnswered)); n != 2 {
				t.Errorf("%s: %d answers are recorded", name, n)
			}
		}
	})
}

// A question of an answer that was asked once outlives the agent's connection.
func TestEqualQuestionsOfADetachedTurn(t *testing.T) {
	t.Parallel()
	w := build(t, offersAll+allowAll, inOrder(asking("request_clarification", howSesame, "request_clarification", howSesame), fakemodel.Answer{Text: "I see.", Fragment: 100}), comments)
	s := speeches[0]
	held := w.detached(s, s.body(true))
	w.decide(held.ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "a handful of it"}})
	if got := <-w.begin(s.path, s.body(true), retried...); got.err != nil || got.turn != held.TurnID || !strings.Contains(got.body, "I see.") {
		t.Errorf("got %q in turn %s, %v", got.body, got.turn, got.err)
	}
	requests := w.upstream.Requests()
	if body := string(requests[len(requests)-1].Body); strings.Count(body, "a handful of it") != 2 {
		t.Errorf("the model reads %s", body)
	}
}
