package app_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Of two calls the first is allowed: it leaves as soon as it is complete.
var (
	freeCall = fakemodel.Call{ID: "call_free7Xk9pQ2mR", Name: "bash", Arguments: `{"command":"ls /free"}`}
	nextCall = fakemodel.Call{ID: "call_next4Ab8cD3eF", Name: "bash", Arguments: `{"command":"du /next"}`}
)

const lsAllowed = "default: ask\ntools:\n  bash: {resource: command, as: shell}\nrules:\n  - allow: [\"bash(ls *)\"]\n"

// inTwoParts is a model that makes both calls, and sends the rest after the beginning of the second once the gate is open. Change may
// change the rest of its first answer.
func inTwoParts(gate <-chan struct{}, change func(rest []fakemodel.Write, reply *fakemodel.Reply)) fakemodel.Script {
	return func(r *fakemodel.Request) fakemodel.Reply {
		for _, told := range []string{`"role":"tool"`, "function_call_output", "tool_result", "go on"} {
			if strings.Contains(string(r.Body), told) {
				return fakemodel.Answer{Text: "Understood."}.Reply(r)
			}
		}
		reply := fakemodel.Answer{Calls: []fakemodel.Call{freeCall, nextCall}}.Reply(r)
		begun := slices.IndexFunc(reply.Body, func(w fakemodel.Write) bool { return bytes.Contains(w.Bytes, []byte(nextCall.ID)) })
		if rest := reply.Body[begun+1:]; len(rest) > 0 {
			rest[0].Gate = gate
			if change != nil {
				change(rest, &reply)
			}
		}
		return reply
	}
}

// everyStream runs a test for a stream of each dialect.
func everyStream(t *testing.T, test func(t *testing.T, s speech)) {
	for _, s := range speeches {
		t.Run(s.name, func(t *testing.T) { t.Parallel(); test(t, s) })
	}
}

// TestAllowedCallsDoNotWaitForLaterCalls: an allowed call reaches the agent before the model has made the next one, and it is in
// the audit log by then. What becomes of the next call is as in an answer whose calls leave together.
func TestAllowedCallsDoNotWaitForLaterCalls(t *testing.T) {
	t.Parallel()
	type outcome struct {
		policy   string
		decision approvals.Action // on the next call, "" where people are not asked
		released bool             // the next call
		events   []string
	}
	for name, tt := range map[string]outcome{
		"allowed":           {policy: "default: allow\n", released: true, events: []string{"call_allowed", "call_released"}},
		"approved":          {policy: lsAllowed, decision: approvals.ActionApprove, released: true, events: []string{"approval_required", "approval_decision", "call_released"}},
		"denied":            {policy: lsAllowed, decision: approvals.ActionDeny, events: []string{"approval_required", "approval_decision", "call_denied"}},
		"denied by a rule":  {policy: lsAllowed + "  - deny: [\"bash(du *)\"]\n", events: []string{"call_denied"}},
		"beyond a limit":    {policy: strings.Replace(lsAllowed, `ls *)"]`, `ls *)", "bash(du *)"]`+"\n    limit: {per_turn: 1, then: deny}", 1), events: []string{"call_denied"}},
		"changed by a rule": {policy: lsAllowed + "  - rewrite: [\"bash(du *)\"]\n    set: {command: args.command + \"/more\"}\n  - allow: [\"bash(du *)\"]\n", released: true, events: []string{"call_allowed", "call_modified", "call_released"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStream(t, func(t *testing.T, s speech) {
				gate := make(chan struct{})
				w := build(t, tt.policy, inTwoParts(gate, nil), comments)
				c := w.post(s.path, s.body(true), s.header...)
				before := c.until(freeCall.ID)
				if strings.Contains(before, nextCall.ID) {
					t.Errorf("the next call came too: %s", before)
				}
				if diff := cmp.Diff([]string{"call_allowed", "call_released"}, w.audited()); diff != "" {
					t.Errorf("events before the next call (-want +got):\n%s", diff)
				}
				close(gate)
				if tt.decision != "" {
					r := w.pending(1)[0]
					if r.ToolCallID != nextCall.ID {
						t.Errorf("asked about %s", r.ToolCallID)
					}
					w.decide(r.ID, approvals.Decision{Action: tt.decision, Note: "no"})
				}
				got := before + c.rest()
				if strings.Contains(got, nextCall.ID) != tt.released || strings.Contains(got, "heldcall_error") {
					t.Errorf("the agent got %s", got)
				}
				if n := len(w.upstream.Requests()); n != 1 {
					t.Errorf("upstream got %d requests", n)
				}
				if diff := cmp.Diff(append([]string{"call_allowed", "call_released"}, tt.events...), w.audited()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The next request of the agent shows the model both calls, although the second was denied after the first had left.
func TestPromise6_TrueTranscript_AfterAnEarlyRelease(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	close(gate)
	w := build(t, lsAllowed+"  - deny: [\"bash(du *)\"]\n    reason: too large\n", inTwoParts(gate, nil), comments)
	s := speeches[0]
	c := w.post(s.path, s.body(true), s.header...)
	if got := c.rest(); strings.Contains(got, nextCall.ID) {
		t.Fatalf("the agent got %s", got)
	}
	history := `"do it"},{"role":"assistant","content":null,"tool_calls":[{"id":"` + freeCall.ID + `","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls /free\"}"}}]},{"role":"tool","tool_call_id":"` + freeCall.ID + `","content":"x"}`
	_ = w.post(s.path, strings.Replace(s.body(true), `"do it"}`, history, 1)).rest()
	told := string(last(w.upstream.Requests()).Body)
	for _, want := range []string{freeCall.ID, nextCall.ID, "too large"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model does not read %s: %s", want, told)
		}
	}
}

// TestNothingMoreOfAStoppedRun: if the run is stopped after a call has left, the next one does not; a paused run waits.
func TestNothingMoreOfAStoppedRun(t *testing.T) {
	t.Parallel()
	for _, action := range []approvals.SignalAction{approvals.SignalAbort, approvals.SignalPause} {
		everyStream(t, func(t *testing.T, s speech) {
			gate := make(chan struct{})
			w := build(t, "default: allow\n", inTwoParts(gate, nil), comments)
			c := w.post(s.path, s.body(true), append([]string{"X-Heldcall-Run", "r1"}, s.header...)...)
			got := c.until(freeCall.ID)
			w.signalRun("r1", action)
			close(gate)
			if action == approvals.SignalPause {
				got += c.until(": keepalive") + c.until(": keepalive")
				if strings.Contains(got, nextCall.ID) {
					t.Errorf("paused, the agent got %s", got)
				}
				w.signalRun("r1", approvals.SignalResume)
			}
			if got += c.rest(); strings.Contains(got, nextCall.ID) != (action == approvals.SignalPause) {
				t.Errorf("%s: the agent got %s", action, got)
			}
			if action == approvals.SignalAbort && !strings.Contains(got, "stopped by a human reviewer") {
				t.Errorf("the agent is not told: %s", got)
			}
		})
	}
}

func (w *world) signalRun(run string, action approvals.SignalAction) {
	w.t.Helper()
	if _, err := w.console.Runs().Signal(w.t.Context(), approvals.Signal{RunID: run, Action: action}); err != nil {
		w.t.Fatal(err)
	}
}

// TestErrorsAfterAnEarlyRelease: the answer breaks off, or changes the call that has left. The agent gets an error, and nothing of
// the next call.
func TestErrorsAfterAnEarlyRelease(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(rest []fakemodel.Write, reply *fakemodel.Reply)
		code   string
	}{
		"cut": {func(rest []fakemodel.Write, reply *fakemodel.Reply) {
			reply.Body, reply.End = reply.Body[:len(reply.Body)-len(rest)+1], fakemodel.EndReset
		}, "upstream_cut"},
		"another call": {func(rest []fakemodel.Write, _ *fakemodel.Reply) {
			for i := range rest {
				rest[i].Bytes = bytes.ReplaceAll(rest[i].Bytes, []byte(nextCall.ID), []byte(freeCall.ID))
				rest[i].Bytes = bytes.ReplaceAll(rest[i].Bytes, []byte(`"index":1`), []byte(`"index":0`))
				rest[i].Bytes = bytes.ReplaceAll(rest[i].Bytes, []byte(`/free`), []byte(`/else`))
			}
		}, "answer_not_understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStream(t, func(t *testing.T, s speech) {
				gate := make(chan struct{})
				w := build(t, "default: allow\n", inTwoParts(gate, tt.change), comments)
				c := w.post(s.path, s.body(true), s.header...)
				got := c.until(freeCall.ID)
				close(gate)
				if got += c.rest(); strings.Contains(got, nextCall.ID) || !strings.Contains(got, tt.code) || strings.Contains(got, "/else") {
					t.Errorf("the agent got %s", got)
				}
				if diff := cmp.Diff([]string{"call_allowed", "call_released"}, w.audited()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestPromise12_AskedOnce_AfterAnEarlyRelease: the agent leaves while its second call is held, and comes back. It gets the first
// call again, people and the model are asked once; if a rule denies the first call by then, it does not get it again.
func TestPromise12_AskedOnce_AfterAnEarlyRelease(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{"": "", "denied meanwhile": "default: ask\ntools:\n  bash: {resource: command, as: shell}\nrules:\n  - deny: [\"bash(ls *)\"]\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStream(t, func(t *testing.T, s speech) {
				gate := make(chan struct{})
				w := build(t, lsAllowed, inTwoParts(gate, nil), comments)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				c := w.begun(ctx, s)
				c.until(freeCall.ID)
				close(gate)
				r := w.pending(1)[0]
				leave()
				w.agent(r.ID, approvals.AgentDetached)
				if rules != "" {
					if err := os.WriteFile(w.policyFile, []byte(rules), 0o600); err != nil {
						t.Fatal(err)
					}
					w.until("the policy is read", func() bool { return len(w.eventsOf(approvals.EventPolicyChanged)) > 1 })
				}
				back := w.begin(s.path, s.body(true), append(retried, s.header...)...)
				if rules != "" {
					w.until("another turn asks", func() bool {
						page, err := w.console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
						return err == nil && len(page.Items) == 1 && page.Items[0].TurnID != r.TurnID
					})
					w.decide(w.pending(1)[0].ID, approved)
					if got := <-back; got.err != nil || strings.Contains(got.body, freeCall.ID) || !strings.Contains(got.body, nextCall.ID) {
						t.Errorf("the agent got %s, %v", got.body, got.err)
					}
					return
				}
				w.decide(r.ID, approved)
				got := <-back
				if got.err != nil || strings.Count(got.body, `"`+freeCall.ID+`"`) == 0 || !strings.Contains(got.body, nextCall.ID) || got.turn != r.TurnID {
					t.Errorf("the agent got %s in turn %s, %v", got.body, got.turn, got.err)
				}
				if n := len(w.upstream.Requests()); n != 1 {
					t.Errorf("upstream got %d requests", n)
				}
				released := w.eventsOf(approvals.EventCallReleased)
				if len(released) != 3 || released[0].Again || released[0].ToolCallID != freeCall.ID || !released[1].Again || released[1].ToolCallID != freeCall.ID || released[2].Again || released[2].ToolCallID != nextCall.ID {
					t.Errorf("released: %+v", released)
				}
				if page, err := w.console.Requests(t.Context(), approvals.Filter{}); err != nil || len(page.Items) != 1 {
					t.Errorf("%d requests to people, %v", len(page.Items), err)
				}
			})
		})
	}
}

// begun is an answer whose agent may leave.
func (w *world) begun(ctx context.Context, s speech) *call {
	w.t.Helper()
	c := w.post(s.path, s.body(true), s.header...)
	context.AfterFunc(ctx, c.cancel)
	return c
}

// A heldcall that is killed after a call has left and before people have decided on the next one gives both to the agent that
// comes back.
func TestPromise12_AskedOnce_KilledAfterAnEarlyRelease(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	upstream, err := fakemodel.New(inTwoParts(gate, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	k := killed{Dir: t.TempDir(), Policy: lsAllowed, Upstream: upstream.URL(), Step: "asked"}
	first := startKilled(t, k)
	agent := &persistent{addr: first.proxy}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	answer := make(chan string, 1)
	go func() {
		got, _ := agent.ask(ctx, speeches[0], speeches[0].body(true))
		answer <- got
	}()
	w := &world{t: t, console: first.console}
	w.event("call_released")
	close(gate)
	<-first.ended
	k.Step = ""
	second := startKilled(t, k)
	agent.move(second.proxy)
	w.console = second.console
	w.decide(w.pending(1)[0].ID, approved)
	if got := <-answer; !strings.Contains(got, freeCall.ID) || !strings.Contains(got, nextCall.ID) {
		t.Errorf("the agent got %s\n%s", got, second.log.String())
	}
	if n := len(upstream.Requests()); n != 1 {
		t.Errorf("upstream got %d requests", n)
	}
	var released []string
	for _, e := range w.eventsOf(approvals.EventCallReleased) {
		released = append(released, e.ToolCallID)
	}
	if diff := cmp.Diff([]string{freeCall.ID, freeCall.ID, nextCall.ID}, released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}
