package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// transcript writes the history that an agent sends, in one API.
type transcript struct {
	path, field string
	user        func(text string) string
	// answer is what the agent shows of an answer with a text and at most one call of
	// read; id "" for none.
	answer func(text, id string) string
	result func(id string) string
}

var transcripts = []transcript{
	{
		path: "/v1/chat/completions", field: "messages",
		user: func(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) },
		answer: func(text, id string) string {
			if id == "" {
				return fmt.Sprintf(`{"role":"assistant","content":%q}`, text)
			}
			return fmt.Sprintf(`{"role":"assistant","content":%q,"tool_calls":[{"id":%q,"type":"function","function":{"name":"read","arguments":"{}"}}]}`, text, id)
		},
		result: func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"data"}`, id) },
	},
	{
		path: "/v1/messages", field: "messages",
		user: func(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) },
		answer: func(text, id string) string {
			if id == "" {
				return fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q}]}`, text)
			}
			return fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q},{"type":"tool_use","id":%q,"name":"read","input":{}}]}`, text, id)
		},
		result: func(id string) string {
			return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"data"}]}`, id)
		},
	},
	{
		path: "/v1/responses", field: "input",
		user: func(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) },
		answer: func(text, id string) string {
			said := fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, text)
			if id == "" {
				return said
			}
			return said + fmt.Sprintf(`,{"type":"function_call","call_id":%q,"name":"read","arguments":"{}"}`, id)
		},
		result: func(id string) string {
			return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"data"}`, id)
		},
	},
}

// send posts a history and returns what upstream got of it.
func (tr *transcript) send(w *world, items []string, header ...string) string {
	w.t.Helper()
	w.post(tr.path, tr.request(items), header...).rest()
	sent := w.upstream.Requests()
	return string(sent[len(sent)-1].Body)
}

func (tr *transcript) request(items []string) string {
	return fmt.Sprintf(`{"model":"m","max_tokens":9,"store":false,%q:[%s]}`, tr.field, strings.Join(items, ","))
}

const (
	readOnly = "default: deny\nrules:\n  - allow: [read]\n"
	refusedA = "The operator's policy refused this call of bash."
)

// mixed is a model that calls read and bash, with ids of the given form, and after a
// result speaks.
func mixed(ids string) fakemodel.Script {
	return func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), "data") {
			return fakemodel.Answer{Text: "Done."}.Reply(r)
		}
		return fakemodel.Answer{Text: "<think>Hm, I ponder.</think>\n\nMail ann@example.com. ", Calls: []fakemodel.Call{
			{ID: fmt.Sprintf(ids, 0), Name: "read", Arguments: "{}"},
			{ID: fmt.Sprintf(ids, 1), Name: "bash", Arguments: `{"command":"rm x"}`},
		}}.Reply(r)
	}
}

// TestDenialBesideRewrittenText: finding 20. An agent that sends the text beside a call
// back in other words does not hide a denied call from the model: agno, litellm, google-adk
// and pydantic-ai rewrite <think>, LlamaIndex repeats texts, filters redact them.
func TestDenialBesideRewrittenText(t *testing.T) {
	t.Parallel()
	for _, ids := range []string{"call_Vr3xkQ0pLm7bTz9%d", "call_%d"} {
		for _, tr := range transcripts {
			t.Run(tr.path[len("/v1/"):]+" "+ids, func(t *testing.T) {
				t.Parallel()
				w := build(t, readOnly, mixed(ids))
				id := fmt.Sprintf(ids, 0)
				for _, text := range []string{
					"Mail ann@example.com.", "<think>\n\nHm, I ponder.\n\n</think>\n\n\n\nMail ann@example.com. ", "\n\nMail ann@example.com. ",
					"Mail [REDACTED]", "[REDACTED]", "Mail ann@example.com. Mail ann@example.com. " + strings.Repeat("And so on. ", 40), "x",
				} {
					begins := []string{tr.user("do it " + text)} // a conversation of its own
					tr.send(w, begins)
					history := append(begins, tr.answer(text, id), tr.result(id))
					first := tr.send(w, history)
					if strings.Count(first, refusedA) != 1 || !strings.Contains(first, `rm x`) {
						t.Errorf("%q: the model does not get it: %s", text, first)
					}
					before, _, _ := strings.Cut(gjson.Get(first, tr.field).Raw, refusedA)
					again := tr.send(w, append(history, tr.answer("Done.", ""), tr.user("and now?")))
					if !strings.HasPrefix(gjson.Get(again, tr.field).Raw, before+refusedA) || strings.Count(again, refusedA) != 1 {
						t.Errorf("%q: the model gets another text: %s", text, again)
					}
				}
				if log := w.log.String(); strings.Contains(log, "no certain place") {
					t.Errorf("a turn with certain calls was reported: %s", log)
				}
			})
		}
	}
}

// alone is a model that makes a call that is denied, and then speaks.
func alone(r *fakemodel.Request) fakemodel.Reply {
	if strings.Contains(string(r.Body), "refused") || strings.Contains(string(r.Body), "and now?") {
		return fakemodel.Answer{Text: "<think>So, no.</think> I may not."}.Reply(r)
	}
	return fakemodel.Answer{Text: "Let me look. ", Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"rm x"}`}}}.Reply(r)
}

// TestDenialBesideNoCall: finding 20. Where the agent has no call to show, its text
// decides, in which white space and <think> do not count. Another text at the position of
// the answer is reported, and the model reads the denial at the same place each time.
func TestDenialBesideNoCall(t *testing.T) {
	t.Parallel()
	for _, tr := range transcripts {
		t.Run(tr.path[len("/v1/"):], func(t *testing.T) {
			t.Parallel()
			w := build(t, denyAll, alone)
			for i, tt := range []struct {
				text string
				sure bool
			}{
				{"Let me look. \n\n<think>So, no.</think> I may not.", true},
				{"  Let me look.\nI may not.\n", true},
				{"Let me [REDACTED]", false},
			} {
				begins := []string{tr.user(fmt.Sprint("do it ", i))}
				tr.send(w, begins)
				history := append(begins, tr.answer(tt.text, ""), tr.user("and now?"))
				first := tr.send(w, history)
				if strings.Count(first, refusedA) != 1 || !strings.Contains(first, "rm x") {
					t.Errorf("%q: the model does not get it: %s", tt.text, first)
				}
				again := tr.send(w, append(history, tr.answer("Well.", ""), tr.user("and now? go on")))
				sent := gjson.Get(first, tr.field).Raw
				if !strings.HasPrefix(gjson.Get(again, tr.field).Raw, sent[:len(sent)-1]) {
					t.Errorf("%q: first %s\nthen %s", tt.text, first, again)
				}
				if reported := strings.Contains(w.log.String(), "no certain place"); reported == tt.sure {
					t.Errorf("%q: reported %t", tt.text, reported)
				}
			}
			if m := w.get(w.app.ConsoleURL() + "/metrics"); !strings.Contains(m, "heldcall_unplaced_turns_total 2\n") {
				t.Errorf("the turn was not counted")
			}
			if strings.Contains(w.log.String(), "REDACTED") {
				t.Error("the log has contents")
			}
		})
	}
}

// TestDenialInAParallelConversation: finding 20. Of two conversations that begin with the
// same words, the one without a denial gets none.
func TestDenialInAParallelConversation(t *testing.T) {
	t.Parallel()
	for _, tr := range transcripts {
		t.Run(tr.path[len("/v1/"):], func(t *testing.T) {
			t.Parallel()
			w := build(t, denyAll, alone)
			begins := []string{tr.user("do it")}
			tr.send(w, begins)
			tr.send(w, begins)
			other := append(begins, tr.answer("What do you mean?", ""), tr.user("and now?"))
			if told := tr.send(w, other); strings.Contains(told, "refused") {
				t.Errorf("the model gets %s", told)
			}
		})
	}
}

// extracts is a model that makes the same call each time the user writes.
func extracts(r *fakemodel.Request) fakemodel.Reply {
	body := string(r.Body)
	if strings.LastIndex(body, "Do not repeat the call") > strings.LastIndex(body, "user says") {
		return fakemodel.Answer{Text: "I may not."}.Reply(r)
	}
	return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "Person", Arguments: `{"name":"Ann"}`}}}.Reply(r)
}

// TestRetryOfStructuredOutput: finding 22. A message by which a framework has a failed
// structured output corrected resets no denial of the identical call. A message of the
// user's does.
func TestRetryOfStructuredOutput(t *testing.T) {
	t.Parallel()
	const (
		forced    = `"tool_choice":{"type":"function","name":"Person","function":{"name":"Person"}}`
		required  = `"tool_choice":{"type":"any"},"tools":[{"name":"Person","type":"function","function":{"name":"Person"}}]`
		automatic = `"tool_choice":"auto"`
	)
	for _, tr := range transcripts {
		t.Run(tr.path[len("/v1/"):], func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, extracts)
			for i, tt := range []struct {
				name, field, said string
				asked             bool
				header            []string
			}{
				{"a tool is forced", forced, "It failed, user says.", false, nil},
				{"the only tool is forced", required, "It failed, user says.", false, nil},
				{"a message of Instructor's", automatic, "Validation Error found:\nthe user says nothing\nRecall the function correctly, fix the errors", false, nil},
				{"in a run with a name", forced, "It failed, user says.", false, []string{"X-Heldcall-Run", "run-1"}},
				{"the user", automatic, "Go ahead, user says.", true, nil},
				{"the user, in a run with a name", automatic, "Go ahead, user says.", true, []string{"X-Heldcall-Run", "run-2"}},
			} {
				post := func(items ...string) chan string {
					body := strings.Replace(tr.request(items), `"store":false`, `"store":false,`+tt.field, 1)
					answer := make(chan string, 1)
					go func() { answer <- w.post(tr.path, body, tt.header...).rest() }()
					return answer
				}
				deny := func(answer chan string) {
					w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "not her"})
					<-answer
				}
				begins := tr.user(fmt.Sprint("user says extract ", i))
				deny(post(begins))
				again := post(begins, tr.answer("I may not.", ""), tr.user(tt.said))
				if tt.asked {
					deny(again)
					continue
				}
				<-again
				sent := w.upstream.Requests()
				if told := string(sent[len(sent)-1].Body); !strings.Contains(told, "already denied") || strings.Count(told, "not her") != 2 {
					t.Errorf("%s: the model gets %s", tt.name, told)
				}
				if n := len(w.pendingNow()); n != 0 {
					t.Fatalf("%s: people are asked again", tt.name)
				}
			}
		})
	}
}

// insisting is a model that calls read and bash, and after a result bash again.
func insisting(r *fakemodel.Request) fakemodel.Reply {
	body := string(r.Body)
	bash := fakemodel.Call{ID: "call_1", Name: "bash", Arguments: `{"command":"rm x"}`}
	switch {
	case strings.Contains(body, "already denied"):
		return fakemodel.Answer{ID: "resp_3", Text: "Understood."}.Reply(r)
	case strings.Contains(body, `"data"`):
		bash.ID = "call_2"
		return fakemodel.Answer{ID: "resp_2", Calls: []fakemodel.Call{bash}}.Reply(r)
	}
	return fakemodel.Answer{ID: "resp_1", Text: "So.", Calls: []fakemodel.Call{{ID: "call_0", Name: "read", Arguments: "{}"}, bash}}.Reply(r)
}

// TestDeniedAgainLaterInTheConversation: finding 21. The denied turn in the history is
// evidence of the conversation, also where upstream keeps the history.
func TestDeniedAgainLaterInTheConversation(t *testing.T) {
	t.Parallel()
	for name, tr := range map[string]transcript{"chat": transcripts[0], "messages": transcripts[1], "responses": transcripts[2], "responses, kept": transcripts[2]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, "default: ask\nrules:\n  - allow: [read]\n", insisting)
			begins := tr.user("do it")
			answer := make(chan string, 1)
			go func() {
				answer <- w.post(tr.path, strings.Replace(tr.request([]string{begins}), `"store":false,`, "", 1)).rest()
			}()
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "not on Fridays"})
			first := <-answer
			body := tr.request([]string{begins, tr.answer("So.", "call_0"), tr.result("call_0")})
			if name == "responses, kept" {
				body = strings.Replace(tr.request([]string{tr.result("call_0")}), `"store":false`, fmt.Sprintf(`"previous_response_id":%q`, gjson.Get(first, "id").Str), 1)
			}
			if got := w.post(tr.path, body).rest(); !strings.Contains(got, "Understood.") {
				t.Errorf("got %s", got)
			}
			sent := w.upstream.Requests()
			if told := string(sent[len(sent)-1].Body); !strings.Contains(told, "already denied") || !strings.Contains(told, "not on Fridays") {
				t.Errorf("the model gets %s", told)
			}
		})
	}
}
