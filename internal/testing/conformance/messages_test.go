package conformance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/internal/testing/conformance"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// message is a stream of Messages. Each event is given as its type and the
// fields after it.
func message(events ...string) []byte {
	var b strings.Builder
	for _, e := range events {
		kind, fields, _ := strings.Cut(e, " ")
		if fields != "" {
			fields = "," + fields
		}
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fields)
	}
	return []byte(b.String())
}

const (
	messageStart = `message_start "message":{"id":"m","role":"assistant","usage":{"input_tokens":1,"output_tokens":1}}`
	thinkStart   = `content_block_start "index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`
	thinkDelta   = `content_block_delta "index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`
	thinkSigned  = `content_block_delta "index":0,"delta":{"type":"signature_delta","signature":"s"}`
	stop0        = `content_block_stop "index":0`
	useStart     = `content_block_start "index":1,"content_block":{"type":"tool_use","id":"t1","name":"remove","input":{}}`
	useEmpty     = `content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":""}`
	useDelta     = `content_block_delta "index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"/home\"}"}`
	stop1        = `content_block_stop "index":1`
	toolUse      = `message_delta "delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}`
	messageStop  = `message_stop`
)

var goodMessage = []string{messageStart, thinkStart, thinkDelta, thinkSigned, stop0, useStart, useEmpty, useDelta, stop1, toolUse, messageStop}

func TestMessagesFold(t *testing.T) {
	f := func(body []byte, want *conformance.Answer) {
		t.Helper()
		if diff := cmp.Diff(want, conformance.Messages.Fold(body)); diff != "" {
			t.Errorf("answer to %s (-want +got):\n%s", body, diff)
		}
	}
	want := &conformance.Answer{
		Choices: []*conformance.Choice{{
			Reasoning: "hm", Roles: 1, Finishes: []string{"tool_use"},
			Items: []string{
				`{"type":"thinking","thinking":"hm","signature":"s"}`,
				`{"type":"tool_use","id":"t1","name":"remove","input":{"path":"/home"}}`,
			},
			Calls: []*conformance.Call{{Index: 1, ID: "t1", Name: "remove", Arguments: `{"path":"/home"}`}},
		}},
		IDs: []string{"m"}, Usage: conformance.Usage{Prompt: 1, Completion: 9, Total: 10},
	}
	f(message(goodMessage...), want)
	spliced := append([]string{strings.Replace(messageStart, `"m"`, `"first"`, 1), thinkStart, thinkDelta, useStart}, goodMessage...)
	want.IDs = []string{"first", "m"}
	f(message(spliced...), want)

	want.IDs, want.Usage = []string{"m"}, conformance.Usage{Prompt: 3, Completion: 4, Total: 7}
	f([]byte(`{"type":"message","id":"m","role":"assistant","content":[`+strings.Join(want.First().Items, ",")+`],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`), want)
	f(message(`error "error":{"type":"overloaded_error"}`), &conformance.Answer{Errors: []string{`{"type":"overloaded_error"}`}})

	for name, arguments := range map[string]string{"without deltas": "", "with an empty delta": useEmpty} {
		events := []string{messageStart, useStart, arguments, stop1}
		if calls := conformance.Messages.Fold(message(events...)).Calls(); len(calls) != 1 || calls[0].Arguments != "{}" {
			t.Errorf("%s the calls are %v", name, calls)
		}
	}
	hosted := []string{messageStart, strings.Replace(useStart, "tool_use", "server_tool_use", 1), useDelta, stop1}
	if calls := conformance.Messages.Fold(message(hosted...)).Calls(); len(calls) != 0 {
		t.Errorf("what the provider runs is the calls %v", calls)
	}
}

func TestMessagesCheckAnswer(t *testing.T) {
	f := func(body []byte, want ...string) {
		t.Helper()
		var got []string
		for _, p := range conformance.Messages.CheckAnswer(body) {
			got = append(got, p.Kind)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("problems of %s (-want +got):\n%s", body, diff)
		}
	}
	without := func(events ...string) []byte {
		var kept []string
		for _, e := range goodMessage {
			if !strings.Contains(strings.Join(events, "\x00"), e) {
				kept = append(kept, e)
			}
		}
		return message(kept...)
	}
	instead := func(event, other string) []byte {
		return []byte(strings.Replace(string(message(goodMessage...)), string(message(event)), string(message(other)), 1))
	}
	f(message(goodMessage...))
	f(message(append([]string{"ping"}, goodMessage...)...))
	f(without(messageStart), "first event")
	f(without(messageStop), "open")
	f(without(toolUse), "no reason")
	f(without(stop0), "block open")
	f(without(stop1), "block open")
	f(without(thinkStart), "no such block", "no such block", "no such block", "block index")
	f(message(append(goodMessage, thinkStart)...), "after the end", "block index", "block open", "ends in thinking")
	f(instead(toolUse, strings.Replace(toolUse, "tool_use", "end_turn", 1)), "stop reason")
	f(without(useStart, useEmpty, useDelta, stop1), "stop reason", "ends in thinking")
	f(instead(useDelta, strings.Replace(useDelta, `}"}`, `"}`, 1)), "input")
	f(instead(toolUse, `from_the_future`), "unknown event", "no reason")
	f([]byte(strings.Replace(string(message(goodMessage...)), "event: message_stop", "event: stop", 1)), "event line")
	f(message(append([]string{messageStart}, goodMessage...)...), "started twice")
	f(append(message(goodMessage[:10]...), "event: message_stop\ndata: {\"type\n\n"...), "not JSON", "open")
	f(message(messageStart, `error "error":{}`))
	f((&fakemodel.MessagesStream{}).Begin().Thinking("hm").Text("x").ToolUse("t", "n", `{"a":1}`).ToolUse("u", "n", "{}").End("tool_use").Bytes())
	f((&fakemodel.MessagesStream{}).Begin().Text("x").End("end_turn").Whole())
}

func TestMessagesLeaks(t *testing.T) {
	upstream := message(goodMessage...)
	secrets := conformance.Secrets(conformance.Messages.Fold(upstream).Calls(), nil)
	f := func(received []byte, leaks, calls int) {
		t.Helper()
		if got := conformance.Leaks(conformance.Messages, secrets, received, upstream); len(got) != leaks {
			t.Errorf("found %q in %s, want %d", got, received, leaks)
		}
		if got := conformance.Messages.StructuredCalls(received); got != calls {
			t.Errorf("%d calls in %s, want %d", got, received, calls)
		}
	}
	f(upstream, 3, 1) // name, arguments and the path in them
	f(message(messageStart, thinkStart, thinkDelta, stop0), 0, 0)
	f(message(useStart), 1, 1)
	f(message(useDelta), 2, 0)
	f([]byte(`{"type":"message","content":[{"type":"tool_use","name":"remove"},{"type":"server_tool_use"}]}`), 1, 1)
}

func TestMessagesCheckConversation(t *testing.T) {
	f := func(valid bool, messages ...string) {
		t.Helper()
		body := `{"max_tokens":1,"tools":[{"name":"a"}],"messages":[` + strings.Join(messages, ",") + `]}`
		if err := conformance.Messages.CheckConversation([]byte(body)); (err == nil) != valid {
			t.Errorf("%s: %v, want valid %t", body, err, valid)
		}
	}
	text := `{"type":"text","text":"x"}`
	use := func(id string) string { return `{"type":"tool_use","id":"` + id + `","input":{}}` }
	says := func(blocks ...string) string { return blocksOf("assistant", blocks...) }
	tells := func(blocks ...string) string { return blocksOf("user", blocks...) }
	f(true, user)
	f(true, user, says(text, use("1"), use("2")), tells(resultBlock("2"), resultBlock("1"), text))
	f(true, user, says(`{"type":"server_tool_use","id":"s"}`, `{"type":"web_search_tool_result","tool_use_id":"s"}`, text), user)
	f(false, user, says(use("1"), use("2")), tells(resultBlock("2")))
	f(false, user, says(use("1"), use("2")), tells(resultBlock("2")), tells(resultBlock("1")))
	f(false, user, says(use("1")), tells(text, resultBlock("1")))
	f(false, user, says(use("1")), tells(resultBlock("1"), resultBlock("1")))
	f(false, user, says(use("1")), user)
	f(false, user, says(use("1")))
	f(false, user, tells(resultBlock("1")))
	f(false, says(text))
	f(false, user, says())
	f(false, user, says(`{"type":"text","text":""}`))
	f(false, user, says(text, `{"type":"thinking","thinking":"x"}`), user)
	f(false, user, says(use("a:0")), tells(resultBlock("a:0")))
	f(false, user, says(use("1")), tells(resultBlock("1")), says(use("1")), tells(resultBlock("1")))
	f(false, user, says(`{"type":"tool_use","id":"1","input":"{}"}`), tells(resultBlock("1")))
	f(false, `{"role":"tool","content":"x"}`)
	for _, body := range []string{`{"messages":[` + user + `]}`, `{"max_tokens":1,"messages":[` + user + `,` + says(use("1")) + `,` + tells(resultBlock("1")) + `]}`, `{`} {
		if conformance.Messages.CheckConversation([]byte(body)) == nil {
			t.Errorf("%s is valid", body)
		}
	}
}

const user = `{"role":"user","content":"x"}`

func blocksOf(role string, blocks ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
}

func resultBlock(id string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":[{"type":"text","text":"result of ` + id + `"}]}`
}

func TestMessagesTold(t *testing.T) {
	got := conformance.Messages.Told([]byte(`{"messages":[` + strings.Join([]string{
		blocksOf("assistant", `{"type":"tool_use","id":"0","name":"old","input":{}}`), blocksOf("user", resultBlock("0")),
		blocksOf("assistant", `{"type":"tool_use","id":"1","name":"f","input":{"a": 1}}`, `{"type":"tool_use","id":"2","name":"g","input":{}}`),
		blocksOf("user", resultBlock("2"), resultBlock("1")),
		blocksOf("assistant", `{"type":"text","text":"x"}`),
	}, ",") + `]}`))
	want := []conformance.Told{
		{Call: conformance.Call{ID: "1", Name: "f", Arguments: `{"a": 1}`}, Result: "result of 1"},
		{Call: conformance.Call{ID: "2", Name: "g", Arguments: `{}`}, Result: "result of 2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestMessagesThoughts(t *testing.T) {
	answer := message(goodMessage...)
	f := func(valid bool, blocks ...string) {
		t.Helper()
		body := []byte(`{"messages":[` + blocksOf("assistant", blocks...) + `]}`)
		if err := conformance.Messages.CheckThoughts(answer, body); (err == nil) != valid {
			t.Errorf("%s: %v, want valid %t", body, err, valid)
		}
	}
	const (
		thinking = `{"type": "thinking", "signature":"s", "thinking":"hm"}`
		use      = `{"type":"tool_use","id":"t1"}`
	)
	f(true, thinking, use)
	f(true, `{"type":"text","text":"x"}`)
	f(false, use)
	f(false, strings.Replace(thinking, "hm", "ha", 1), use)
	f(false, strings.Replace(thinking, `"s"`, `""`, 1), use)
	f(false, thinking, thinking, use)
	f(false, `{"type":"redacted_thinking","data":"x"}`, thinking, use)
}

// The scripted model and the checks agree on what counts as right.
func TestChecksAgreeWithTheScriptedModel(t *testing.T) {
	a := fakemodel.Answer{Reasoning: "hm", Text: "x", Calls: []fakemodel.Call{{ID: "t1", Name: "a", Arguments: `{"a":1}`}, {ID: "t2", Name: "b", Arguments: "{}"}}}
	request := []byte(`{"thinking":{"type":"enabled"},"reasoning":{"summary":"auto"}}`)
	for name, d := range map[string]struct {
		conformance.Dialect
		bodies [][]byte
	}{
		"chat":      {conformance.Chat, [][]byte{a.Stream(true).Bytes(), a.Whole()}},
		"responses": {conformance.Responses, [][]byte{a.ResponsesStream(request).Bytes(), a.ResponsesStream(request).Whole()}},
		"messages":  {conformance.Messages, [][]byte{a.MessagesStream(request).Bytes(), a.MessagesStream(request).Whole()}},
	} {
		for _, body := range d.bodies {
			if found := d.CheckAnswer(body); len(found) > 0 {
				t.Errorf("%s: %v in %s", name, found, body)
			}
			got := d.Fold(body).First()
			said := []string{got.Text, got.Reasoning, fmt.Sprint(len(got.Calls))}
			if diff := cmp.Diff([]string{"x", "hm", "2"}, said); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			for i, call := range got.Calls {
				if call.ID != a.Calls[i].ID || call.Name != a.Calls[i].Name || !json.Valid([]byte(call.Arguments)) || call.Arguments != a.Calls[i].Arguments {
					t.Errorf("%s: call %d is %+v", name, i, *call)
				}
			}
		}
	}
}
