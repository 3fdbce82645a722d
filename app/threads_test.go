package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// Message threads through the front door: Anthropic keeps the conversation, and the agent sends
// new messages only, as the loops of Anthropic's SDKs do. It names no session.

// thread is an agent with a message thread. The scripted model refuses what Anthropic refuses.
type thread struct {
	talk
	previous string    // id of the message that the next request continues, "" for a new thread
	stored   int       // messages that upstream has
	replays  int       // how often the agent had to send the whole conversation again
	headed   chan bool // gets a value with the head of each answer; nil: none
}

func newThread(w *world, streamed bool) *thread {
	k := newTalk(w, fakemodel.Messages, streamed)
	k.session = ""
	return &thread{talk: *k}
}

// say adds a message of the user and sends the new messages.
func (k *thread) say(text string) read {
	k.w.t.Helper()
	k.history = append(k.history, map[string]any{"role": "user", "content": text})
	return k.send()
}

// send sends the new messages, and the whole conversation if the thread is lost.
func (k *thread) send() read {
	k.w.t.Helper()
	body := map[string]any{"model": "m", "max_tokens": 99, "stream": k.streamed}
	if k.previous == "" {
		var tools []any
		for _, name := range []string{"bash", "read", "send"} {
			tools = append(tools, map[string]any{"name": name, "input_schema": map[string]any{"type": "object"}})
		}
		body["tools"], body["thread"], body["messages"] = tools, map[string]any{"type": "create"}, k.history
	} else {
		body["thread"], body["messages"] = map[string]any{"type": "continue", "previous_message_id": k.previous}, k.history[k.stored:]
	}
	raw, err := json.Marshal(body)
	if err != nil {
		k.w.t.Fatal(err)
	}
	c := k.w.post("/v1/messages", string(raw), "anthropic-version", "2023-06-01", "x-api-key", "k", "X-Heldcall-Session", k.session)
	if k.headed != nil {
		k.headed <- true
	}
	k.raw = c.rest()
	if c.resp.StatusCode == http.StatusNotFound && gjson.Get(k.raw, "error.details.error_code").Str == "thread_not_found" && k.previous != "" {
		k.previous = ""
		k.replays++
		return k.send()
	}
	if c.resp.StatusCode != http.StatusOK || strings.Contains(k.raw, "event: error") {
		k.w.t.Fatalf("%d %s\nsent: %s", c.resp.StatusCode, k.raw, raw)
	}
	got := k.read(k.raw)
	k.add(got)
	k.stored, k.previous = len(k.history), k.id()
	return got
}

// id is that of the last answer.
func (k *thread) id() string {
	if k.streamed {
		line, _, _ := strings.Cut(k.raw[strings.Index(k.raw, "event: message_start\ndata: ")+len("event: message_start\ndata: "):], "\n")
		return gjson.Get(line, "message.id").Str
	}
	return gjson.Get(k.raw, "id").Str
}

// loop sends a message of the user, runs the calls of the answers, and returns the last one.
func (k *thread) loop(text string) read {
	k.w.t.Helper()
	got := k.say(text)
	for len(got.calls) > 0 {
		var results []any
		for _, c := range got.calls {
			results = append(results, map[string]any{"type": "tool_result", "tool_use_id": c.ID, "content": "ran " + c.Name + " " + c.Arguments})
		}
		k.history = append(k.history, map[string]any{"role": "user", "content": results})
		got = k.send()
	}
	return got
}

// began is loop beside the test.
func (k *thread) began(text string) chan read {
	answer := make(chan read, 1)
	go func() { answer <- k.loop(text) }()
	return answer
}

// told is a model that repeats what it has read since its last answer, and makes the calls that the user asks for.
func told() *fakemodel.Model {
	call := func(name, arguments string) fakemodel.Call { return fakemodel.Call{Name: name, Arguments: arguments} }
	say := func(calls ...fakemodel.Call) func(fakemodel.Conversation) fakemodel.Answer {
		return fakemodel.Say(fakemodel.Answer{Text: "Let me see.", Calls: calls})
	}
	return &fakemodel.Model{Rules: []fakemodel.Rule{
		{When: fakemodel.UserSays("do both"), Say: say(call("bash", `{"command":"rm x"}`), call("read", `{"path":"x"}`))},
		{When: fakemodel.UserSays("do it"), Say: say(call("bash", `{"command":"rm x"}`))},
		{When: fakemodel.UserSays("send it"), Say: say(call("send", `{"to":"eve"}`))},
		{When: fakemodel.UserSays("ask me"), Say: say(call("request_clarification", howSesame))},
	}, Otherwise: fakemodel.Answer{}}
}

// sayRead is a script of the model that answers all else with what it has read.
func sayRead(m *fakemodel.Model) fakemodel.Script {
	m.Rules = append(m.Rules, fakemodel.Rule{When: func(fakemodel.Conversation) bool { return true }, Say: func(c fakemodel.Conversation) fakemodel.Answer {
		var all strings.Builder
		for _, message := range c.Messages {
			fmt.Fprintf(&all, "[%s] %s ", message.Role, message.Content)
		}
		return fakemodel.Answer{Text: "I have read: " + all.String(), Fragment: 1000}
	}})
	return m.Reply
}

// eachThread runs a test for a streamed and a whole thread.
func eachThread(t *testing.T, test func(t *testing.T, streamed bool)) {
	for _, streamed := range []bool{true, false} {
		t.Run(fmt.Sprintf("streamed %t", streamed), func(t *testing.T) {
			t.Parallel()
			test(t, streamed)
		})
	}
}

// asked are the thread fields of the requests to upstream, in short.
func asked(w *world) string {
	var list []string
	for _, r := range w.upstream.Requests() {
		list = append(list, gjson.GetBytes(r.Body, "thread.type").Str)
	}
	return strings.Join(list, " ")
}

// What rules decide, in the first request of a thread and in one that continues it: the model reads
// all of it, and the agent never has to send the whole conversation again.
func TestThreadRules(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy, say string
		reads       string // that the model reads
		not         string
		asked       string // of upstream, in the first request of a thread
	}{
		"allowed":               {allowAll, "do both", "ran bash", "refused", "create continue continue"},
		"denied beside allowed": {"default: allow\nrules:\n  - deny: [bash]\n", "do both", "policy refused this call of bash", "ran bash", "create continue continue"},
		"all denied":            {denyAll, "do both", "policy refused this call of read", "ran ", "create create continue"},
		"changed by a rule":     {"default: allow\nrules:\n  - rewrite: [bash]\n    set: {command: ls y}\n", "do it", `The arguments that ran: {"command":"ls y"}`, "rm x", "create continue continue"},
	} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s later=%t", name, later), func(t *testing.T) {
				t.Parallel()
				eachThread(t, func(t *testing.T, streamed bool) {
					w := build(t, tt.policy, sayRead(told()))
					k, want := newThread(w, streamed), tt.asked
					if later {
						k.say("hello")
						want = "create " + strings.ReplaceAll(want, "create", "continue")
					}
					if got := k.loop(tt.say); !strings.Contains(got.text, tt.reads) || strings.Contains(got.text, tt.not) {
						t.Errorf("the model has read %q", got.text)
					}
					if got := k.say("and now?"); !strings.Contains(got.text, tt.reads) || strings.Contains(got.text, tt.not) {
						t.Errorf("then the model has read %q", got.text)
					}
					if k.replays > 0 || asked(w) != want {
						t.Errorf("upstream was asked %s, want %s; %d replays", asked(w), want, k.replays)
					}
				})
			})
		}
	}
}

// What people decide in a thread: a denial beside an edit, and the answer to a question. All of it is in
// one session and one run for each message of the user.
func TestThreadDecisions(t *testing.T) {
	t.Parallel()
	eachThread(t, func(t *testing.T, streamed bool) {
		w := build(t, askAll+offersAll, sayRead(told()))
		k := newThread(w, streamed)
		answer := k.began("do both")
		both := w.pending(2)
		w.decide(both[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "Never rm."})
		w.decide(both[1].ID, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"path":"y"}`)})
		got := <-answer
		for _, text := range []string{"Never rm.", `The arguments that ran: {"path":"y"}`, `ran read {"path":"y"}`} {
			if !strings.Contains(got.text, text) {
				t.Errorf("the model has not read %q in %q", text, got.text)
			}
		}
		answer = k.began("ask me")
		question := w.pending(1)[0]
		if question.Kind != approvals.KindClarification {
			t.Fatalf("asked about %s", question.Kind)
		}
		w.decide(question.ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "Two spoons."}})
		if got := <-answer; !strings.Contains(got.text, "Two spoons.") {
			t.Errorf("the model has read %q", got.text)
		}
		answer = k.began("do it")
		again := w.pending(1)[0]
		w.decide(again.ID, approvals.Decision{Action: approvals.ActionApprove})
		<-answer
		if both[0].SessionID != question.SessionID || both[0].SessionID != again.SessionID || both[0].RunID != both[1].RunID || both[0].RunID == question.RunID || question.RunID == again.RunID {
			t.Errorf("sessions and runs: %s %s, %s %s, %s %s", both[0].SessionID, both[0].RunID, question.SessionID, question.RunID, again.SessionID, again.RunID)
		}
		if k.replays > 0 {
			t.Errorf("%d replays", k.replays)
		}
	})
}

// A run that has read what taints it stays tainted in the requests that continue its thread.
func TestThreadTaint(t *testing.T) {
	t.Parallel()
	eachThread(t, func(t *testing.T, streamed bool) {
		m := told()
		m.Rules = append(m.Rules, fakemodel.Rule{When: fakemodel.ToolAnswers("read", "ran"), Say: fakemodel.Say(fakemodel.Answer{Calls: []fakemodel.Call{{Name: "bash", Arguments: "{}"}}})},
			fakemodel.Rule{When: fakemodel.ToolAnswers("bash", "ran bash"), Say: fakemodel.Say(fakemodel.Answer{Calls: []fakemodel.Call{{Name: "send", Arguments: "{}"}}})})
		w := build(t, "default: allow\ntaint: [read]\nrules:\n  - deny: [send]\n    when: run.tainted\n", sayRead(m))
		if got := newThread(w, streamed).loop("do both"); !strings.Contains(got.text, "policy refused this call of send") {
			t.Errorf("the model has read %q", got.text)
		}
	})
}

// A call that is parked in a thread: the model reads its state, then the decision, and the approved call
// passes once.
func TestThreadParked(t *testing.T) {
	t.Parallel()
	eachThread(t, func(t *testing.T, streamed bool) {
		w := build(t, askAll, sayRead(told()), parks)
		k := newThread(w, streamed)
		first := k.say("do it")
		request := w.pending(1)[0]
		if !strings.Contains(first.text, request.ID) || len(first.calls) > 0 {
			t.Fatalf("the answer: %+v", first)
		}
		if got := k.say("what else?"); !strings.Contains(got.text, "waits for a person's approval") {
			t.Errorf("while it waits the model has read %q", got.text)
		}
		w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove, Note: "Go."})
		if got := k.say("is it decided?"); strings.Count(got.text, "It has been approved since then") != 1 || !strings.Contains(got.text, "Go.") {
			t.Errorf("after the decision the model has read %q", got.text)
		}
		if got := k.say("then do it"); len(got.calls) != 1 {
			t.Fatalf("the approved call: %+v", got)
		}
		k.result(k.history[len(k.history)-1].(map[string]any)["content"].([]any)[1].(map[string]any)["id"].(string), "ran")
		k.send()
		k.say("do it again")
		w.pending(1)
		if k.replays > 0 {
			t.Errorf("%d replays", k.replays)
		}
	})
}

// The API forgets a thread while people decide: the answer ends with a closing text, and the agent
// sends the whole conversation next time. The model reads the denial, and people are not asked again.
func TestThreadLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		streamed  bool
		configure func(*app.Config)
		begun     bool // the agent has got a part of the answer before the decision
	}{
		"a stream":                       {true, silent, true},
		"a whole answer":                 {false, silent, false},
		"a whole answer with heartbeats": {false, func(*app.Config) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := told()
			w := build(t, askAll, sayRead(m), tt.configure)
			k := newThread(w, tt.streamed)
			k.say("hello")
			k.headed = make(chan bool, 9)
			answer := k.began("do it")
			request := w.pending(1)[0]
			if tt.begun {
				<-k.headed
			}
			m.ForgetThreads()
			w.decide(request.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "Never rm."})
			got := <-answer
			if !strings.HasSuffix(got.text, "The tool calls of this answer were denied and not run. Please tell me how to go on.") || k.replays > 0 {
				t.Fatalf("the agent has read %q after %d replays", got.text, k.replays)
			}
			got = k.say("go on")
			if !strings.Contains(got.text, "Never rm.") || k.replays != 1 {
				t.Errorf("the model has read %q after %d replays", got.text, k.replays)
			}
			answer = k.began("do it")
			if again := w.pending(1)[0]; again.SessionID != request.SessionID {
				t.Errorf("the whole conversation is in session %s, the thread was in %s", again.SessionID, request.SessionID)
			}
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
			<-answer
		})
	}
}

// The API cannot continue an answer that has a hidden turn. Its error names an id that the agent does not
// know; the agent gets one after which it sends the whole conversation.
func TestThreadLostAfterAHiddenTurn(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*fakemodel.Model, *thread){
		"not found": func(m *fakemodel.Model, _ *thread) { m.ForgetThreads() },
		"already continued": func(_ *fakemodel.Model, k *thread) {
			branch := *k
			branch.history = slices.Clone(k.history)
			branch.say("or else?")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachThread(t, func(t *testing.T, streamed bool) {
				m := told()
				w := build(t, askAll+offersAll, sayRead(m), silent)
				k := newThread(w, streamed)
				answer := k.began("ask me")
				w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "Two spoons."}})
				<-answer
				lose(m, k)
				if got := k.say("and then?"); k.replays != 1 || !strings.Contains(got.text, "[tool] {\"answer\":\"Two spoons.\"") {
					t.Errorf("after %d replays the model has read %q", k.replays, got.text)
				}
			})
		})
	}
}

// A run is stopped in a thread: upstream has calls without results, so the agent has to send the whole
// conversation when the user writes again.
func TestThreadAborted(t *testing.T) {
	t.Parallel()
	eachThread(t, func(t *testing.T, streamed bool) {
		w := build(t, askAll, sayRead(told()))
		k := newThread(w, streamed)
		k.say("hello")
		answer := k.began("do it")
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAbortRun, Note: "Enough."})
		if got := <-answer; !strings.Contains(got.text, "This run was stopped") {
			t.Fatalf("the agent has read %q", got.text)
		}
		refused := w.post("/v1/messages", fmt.Sprintf(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"thread":{"type":"continue","previous_message_id":%q}}`, k.previous), "anthropic-version", "2023-06-01", "x-api-key", "k")
		body := refused.rest()
		if e := gjson.Get(body, "error"); refused.resp.StatusCode != http.StatusNotFound || gjson.Get(body, "type").Str != "error" || e.Get("type").Str != "not_found_error" || e.Get("details.error_code").Str != "thread_not_found" {
			t.Errorf("%d %s", refused.resp.StatusCode, body)
		}
		if got := k.say("go on"); !strings.Contains(got.text, "This run was stopped") || k.replays != 1 {
			t.Errorf("the model has read %q after %d replays", got.text, k.replays)
		}
	})
}

// Two users of one key begin a thread with the same words. What people decide for one is nothing for
// the other.
func TestThreadsOfTwoUsers(t *testing.T) {
	t.Parallel()
	eachThread(t, func(t *testing.T, streamed bool) {
		w := build(t, askAll, sayRead(told()))
		alice, bob := newThread(w, streamed), newThread(w, streamed)
		alice.say("hello")
		bob.say("hello")
		if alice.previous == bob.previous {
			t.Fatal("both have one thread")
		}
		answer := alice.began("do it")
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "Not for Alice."})
		<-answer
		answer = bob.began("do it")
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		if got := <-answer; !strings.Contains(got.text, "ran bash") || strings.Contains(got.text, "Alice") {
			t.Errorf("Bob's model has read %q", got.text)
		}
	})
}
