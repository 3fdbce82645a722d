package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// tainting is a world whose model answers with what a test sets, and whose policy asks tainted runs about bash.
type tainting struct {
	*world
	next atomic.Pointer[fakemodel.Answer]
}

func newTainting(t *testing.T) *tainting {
	w := &tainting{}
	w.world = build(t, "default: allow\ntaint: [read]\nrules:\n  - ask: [bash]\n    when: run.tainted\n",
		func(r *fakemodel.Request) fakemodel.Reply { return w.next.Load().Reply(r) })
	return w
}

// conversation is a body of Chat Completions with an opening message and more of them.
func conversation(opening string, messages ...string) string {
	text, _ := json.Marshal(opening)
	messages = append([]string{fmt.Sprintf(`{"role":"user","content":%s}`, text)}, messages...)
	return fmt.Sprintf(`{"model":"m","stream":true,"messages":[%s],"tools":[%s]}`, strings.Join(messages, ","),
		`{"type":"function","function":{"name":"bash"}},{"type":"function","function":{"name":"read"}},{"type":"function","function":{"name":"Agent"}},{"type":"function","function":{"name":"spawn_agent"}}`)
}

const (
	readsThePage = `{"role":"assistant","tool_calls":[{"id":"call_read","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_read","content":"a page"}`
	chatPath     = "/v1/chat/completions"
)

// says sends a request that the model answers with a text.
func (w *tainting) says(body string, headers ...string) {
	w.t.Helper()
	w.next.Store(&fakemodel.Answer{Text: "I see."})
	w.post(chatPath, body, headers...).rest()
}

// starts sends a request that the model answers with a call that starts an agent.
func (w *tainting) starts(tool, argument, prompt, body string, headers ...string) {
	w.t.Helper()
	arguments, _ := json.Marshal(map[string]string{argument: prompt, "description": "help"})
	w.next.Store(&fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_start", Name: tool, Arguments: string(arguments)}}})
	if answer := w.post(chatPath, body, headers...).rest(); !strings.Contains(answer, "call_start") {
		w.t.Fatalf("the call did not leave: %s", answer)
	}
}

// runs sends a request that the model answers with a command, and reports whether people are asked about it in a
// tainted run.
func (w *tainting) runs(wantAsked bool, body string, headers ...string) {
	w.t.Helper()
	w.next.Store(&fakemodel.Answer{Calls: []fakemodel.Call{lsCall}})
	answer := w.post(chatPath, body, headers...)
	if wantAsked {
		held := w.pending(1)[0]
		if !strings.HasPrefix(held.Details.Tainted, "the result of read {}") {
			w.t.Errorf("the request has the cause %q", held.Details.Tainted)
		}
		w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
	}
	if rest := answer.rest(); !strings.Contains(rest, lsCall.ID) {
		w.t.Errorf("the call did not leave: %s", rest)
	}
}

// TestTaintStaysInTheSession: a run that a user begins later in a session is tainted, also after the agent has
// shortened its history. Another session is not.
func TestTaintStaysInTheSession(t *testing.T) {
	t.Parallel()
	w := newTainting(t)
	w.says(conversation("Read the page.", readsThePage), "X-Heldcall-Session", "a")
	w.runs(true, conversation("A summary of the conversation.", `{"role":"user","content":"Now run the checks."}`), "X-Heldcall-Session", "a")
	w.runs(false, conversation("Run the checks."), "X-Heldcall-Session", "b")
}

// TestTaintOfSubagents: an agent that a tainted conversation has started is tainted, and one that reads what the policy
// does not trust taints the conversation that has started it.
func TestTaintOfSubagents(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]struct{ tool, argument string }{"Agent": {"Agent", "prompt"}, "spawn_agent": {"spawn_agent", "message"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTainting(t)
			w.says(conversation("Read the page.", readsThePage), "X-Heldcall-Session", "tainted")
			w.starts(start.tool, start.argument, "Run the \"checks\" é.", conversation("Read the page."), "X-Heldcall-Session", "tainted")
			w.runs(true, conversation("Run the \"checks\" é."), "X-Heldcall-Session", "child")

			w.starts(start.tool, start.argument, "Read the page for me.", conversation("Be careful."), "X-Heldcall-Session", "clean")
			w.runs(false, conversation("Be careful.", `{"role":"user","content":"And now?"}`), "X-Heldcall-Session", "clean")
			w.says(conversation("Read the page for me.", readsThePage), "X-Heldcall-Session", "reader")
			w.runs(true, conversation("Be careful.", `{"role":"user","content":"And then?"}`), "X-Heldcall-Session", "clean")
			w.runs(false, conversation("Something else."), "X-Heldcall-Session", "other")
		})
	}
}

// TestTaintOfRemindedSubagents: reminders that an agent puts beside the prompt of a subagent do not hide who has started it.
func TestTaintOfRemindedSubagents(t *testing.T) {
	t.Parallel()
	w := newTainting(t)
	w.says(conversation("Read the page.", readsThePage), "X-Heldcall-Session", "tainted")
	w.starts("Agent", "prompt", "Run the checks.", conversation("Read the page."), "X-Heldcall-Session", "tainted")
	reminded := strings.Replace(conversation("PROMPT"), `"PROMPT"`, `[{"type":"text","text":"<system-reminder>Be brief.</system-reminder>"},{"type":"text","text":"Run the checks."}]`, 1)
	w.runs(true, reminded, "X-Heldcall-Session", "child")
}

// TestTaintOfThreads: a thread of Codex that names the thread that has started it shares its taint.
func TestTaintOfThreads(t *testing.T) {
	t.Parallel()
	w := newTainting(t)
	w.says(conversation("Read the page.", readsThePage), "X-Heldcall-Session", "1", "thread-id", "parent")
	w.runs(true, conversation("Do the rest."), "X-Heldcall-Session", "2", "thread-id", "child", "x-codex-parent-thread-id", "parent")
	w.runs(false, conversation("Do the rest."), "X-Heldcall-Session", "3", "thread-id", "other", "x-codex-parent-thread-id", "clean")
}
