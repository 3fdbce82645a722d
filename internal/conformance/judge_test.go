package conformance_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/conformance"
)

// judge looks at the first answer. It returns false when the trial ends there.
func (x *trial) judge(got reply, asked [][]byte) bool {
	if why := failsClosed(x); why != "" {
		x.judgeClosed(got)
		return false
	}
	if got.err != nil {
		x.fail("the answer was cut off: %v", got.err)
	}
	if got.status != x.exchange.Status {
		x.fail("status %d became %d", x.exchange.Status, got.status)
	}
	if want, is := x.exchange.Header.Get("Content-Type"), got.header.Get("Content-Type"); want != is {
		x.fail("content type %q became %q", want, is)
	}
	switch x.outcome {
	case allowed, approved:
		x.judgeUnchanged(got, asked)
	case denied:
		x.judgeDenied(got, asked)
	case edited:
		x.judgeEdited(got, asked)
	default:
		x.judgeMixed(got, asked)
	}
	return true
}

func (x *trial) judgeUnchanged(got reply, asked [][]byte) {
	if string(got.body) != string(x.exchange.Body) {
		x.fail("the answer changed%s", difference(x.exchange.Body, got.body))
	}
	if len(asked) != 1 {
		x.fail("upstream was asked %d times", len(asked))
	}
}

// judgeClosed looks at an answer that heldcall must not release: it says so in
// the agent's own error shape, and nothing of a call is in it.
func (x *trial) judgeClosed(got reply) {
	x.judgeSecrets(got, conformance.Secrets(x.calls, nil))
	received := conformance.Fold(got.body)
	if len(received.Errors) != 1 || gjson.Get(received.Errors[0], "code").String() != "answer_not_understood" {
		x.fail("no error answer_not_understood in %d %s", got.status, shorten(got.body))
	}
	if conformance.StructuredCalls(got.body) > 0 {
		x.fail("a call passed: %s", shorten(got.body))
	}
	if got.err != nil {
		x.fail("the answer was cut off: %v", got.err)
	}
}

func (x *trial) judgeSecrets(got reply, secrets []string) {
	for _, leak := range conformance.Leaks(secrets, x.exchange.Body, got.body) {
		x.fail("leak: %s", leak)
	}
}

func (x *trial) judgeDenied(got reply, asked [][]byte) {
	x.judgeSecrets(got, conformance.Secrets(x.calls, nil))
	if n := conformance.StructuredCalls(got.body); n > 0 {
		x.fail("%d denied calls are in the answer: %s", n, shorten(got.body))
	}
	original, received := conformance.Fold(x.exchange.Body), conformance.Fold(got.body)
	x.judgeForm(original, received)
	several := len(original.Choices) > 1 // which is why the model cannot go on
	for _, c := range received.Choices {
		if len(c.Finishes) != 1 || strings.HasSuffix(c.Finishes[0], "_calls") || c.Finishes[0] == "function_call" {
			x.fail("choice %d ends with %q", c.Index, c.Finishes)
		}
		said := find(original, c.Index)
		if said == nil {
			x.fail("choice %d was made up", c.Index)
			continue
		}
		if !strings.HasPrefix(c.Text, said.Text) || !several && !strings.HasSuffix(c.Text, continuationText) {
			x.fail("text %q became %q", said.Text, c.Text)
		}
		if !strings.HasPrefix(c.Reasoning, said.Reasoning) {
			x.fail("reasoning %q became %q", said.Reasoning, c.Reasoning)
		}
		if c.Roles > max(said.Roles, 1) {
			x.fail("choice %d names its role %d times", c.Index, c.Roles)
		}
	}
	if several {
		if len(asked) != 1 {
			x.fail("an answer with several choices was continued")
		}
		return
	}
	x.judgeUsage(original, received)
	x.judgeContinuation(asked)
}

// judgeForm looks at what every answer must be, whatever became of its calls.
func (x *trial) judgeForm(original, received *conformance.Answer) {
	if len(received.Malformed) > 0 {
		x.fail("not JSON: %q", received.Malformed)
	}
	if len(received.Errors) != len(original.Errors) {
		x.fail("errors %q", received.Errors)
	}
	if received.Late {
		x.fail("something follows [DONE]")
	}
	if want := x.exchange.Streamed && (original.Done > 0 || x.outcome == denied); received.Done > 1 || want && received.Done == 0 {
		x.fail("[DONE] came %d times", received.Done)
	}
	if len(received.Choices) != len(original.Choices) {
		x.fail("%d choices became %d", len(original.Choices), len(received.Choices))
	}
	for _, id := range received.ChunkIDs {
		if !slices.Contains(original.ChunkIDs, id) {
			x.fail("the answer has the id %q beside %q", id, original.ChunkIDs)
		}
	}
}

// judgeUsage compares the usage with what both answers cost together.
func (x *trial) judgeUsage(original, received *conformance.Answer) {
	if original.Usage == (conformance.Usage{}) {
		return
	}
	want := conformance.Usage{
		Prompt:     original.Usage.Prompt + continuationPrompt,
		Completion: original.Usage.Completion + continuationComplete,
		Total:      original.Usage.Total + continuationPrompt + continuationComplete,
	}
	if received.Usage != want {
		x.fail("usage %+v became %+v, want %+v", original.Usage, received.Usage, want)
	}
}

// judgeContinuation looks at the request by which the model is told.
func (x *trial) judgeContinuation(asked [][]byte) {
	if len(asked) != 2 {
		x.fail("upstream was asked %d times, want the request and its continuation", len(asked))
		return
	}
	body := asked[1]
	if err := conformance.CheckConversation(body); err != nil {
		x.fail("a provider would refuse the continuation: %v in %s", err, shorten(body))
	}
	if err := conformance.CheckPrefix(x.request, body); err != nil {
		x.fail("the continuation changed the history: %v", err)
	}
	for _, field := range []string{"model", "stream", "tools", "functions", "stream_options"} {
		if was, is := gjson.GetBytes(x.request, field).Raw, gjson.GetBytes(body, field).Raw; was != is {
			x.fail("the continuation has %s %s, not %s", field, is, was)
		}
	}
	if choice := gjson.GetBytes(body, "tool_choice"); choice.Exists() && choice.String() != "auto" && choice.String() != "none" {
		x.fail("the continuation forces a tool: tool_choice %s", choice.Raw)
	}
	message, told := conformance.ToldOf(body)
	said := conformance.Fold(x.exchange.Body).First()
	if said.Reasoning != "" && !strings.Contains(message.Raw, "reasoning") {
		x.fail("the continuation lost the reasoning: %s", message.Raw)
	}
	x.judgeTold(told, func(int) (string, string) { return "", x.note() })
}

// judgeTold compares what the model is told of the first choice's calls. want
// returns, for a call of it, the arguments that ran ("" for the model's own) and
// a text that its result contains.
func (x *trial) judgeTold(told []conformance.Told, want func(i int) (arguments, result string)) {
	calls := conformance.Fold(x.exchange.Body).First().Calls
	if len(told) != len(calls) {
		x.fail("the model made %d calls and is shown %d", len(calls), len(told))
		return
	}
	for i, t := range told {
		arguments, result := want(i)
		same := t.Call.Arguments == calls[i].Arguments
		if arguments != "" {
			same = t.Call.Arguments == arguments || sameJSON(t.Call.Arguments, arguments)
		}
		if !same && !(calls[i].Arguments == "" && t.Call.Arguments == "{}") {
			x.fail("the model is shown the arguments %q of call %d", t.Call.Arguments, i)
		}
		if t.Call.Name != calls[i].Name || calls[i].ID != "" && t.Call.ID != calls[i].ID {
			x.fail("call %d is shown to the model as %q %q", i, t.Call.ID, t.Call.Name)
		}
		if !strings.Contains(t.Result, result) {
			x.fail("of call %d the model is told %q, without %q", i, t.Result, result)
		}
	}
}

func (x *trial) judgeEdited(got reply, asked [][]byte) {
	if len(asked) != 1 {
		x.fail("upstream was asked %d times", len(asked))
	}
	original, received := conformance.Fold(x.exchange.Body), conformance.Fold(got.body)
	x.judgeForm(original, received)
	x.judgeRest(original, received)
	calls := received.Calls()
	if len(calls) != len(x.calls) {
		x.fail("%d calls became %d", len(x.calls), len(calls))
		return
	}
	var arguments []*conformance.Call
	for i, call := range calls {
		was := x.calls[i]
		arguments = append(arguments, &conformance.Call{Arguments: was.Arguments})
		if call.ID != was.ID || call.Name != was.Name || call.Custom != was.Custom || call.Legacy != was.Legacy {
			x.fail("call %+v became %+v", *was, *call)
		}
		if want := x.editedArguments(i); call.Arguments != want && !sameJSON(call.Arguments, want) {
			x.fail("call %d runs with %q, want %q", i, call.Arguments, want)
		}
	}
	x.judgeSecrets(got, conformance.Secrets(arguments, calls))
}

// judgeRest compares everything but the calls.
func (x *trial) judgeRest(original, received *conformance.Answer) {
	if received.Usage != original.Usage {
		x.fail("usage %+v became %+v", original.Usage, received.Usage)
	}
	for _, c := range received.Choices {
		was := find(original, c.Index)
		if was == nil {
			x.fail("choice %d was made up", c.Index)
			continue
		}
		if len(c.Calls) == 0 && len(was.Calls) > 0 {
			continue // it lost its calls, and says so
		}
		if c.Text != was.Text || c.Reasoning != was.Reasoning || !slices.Equal(c.Finishes, was.Finishes) {
			x.fail("choice %d was text %q, reasoning %q, finish %q and is text %q, reasoning %q, finish %q", c.Index,
				was.Text, was.Reasoning, was.Finishes, c.Text, c.Reasoning, c.Finishes)
		}
	}
}

func (x *trial) judgeMixed(got reply, asked [][]byte) {
	if len(asked) != 1 {
		x.fail("upstream was asked %d times", len(asked))
	}
	original, received := conformance.Fold(x.exchange.Body), conformance.Fold(got.body)
	x.judgeForm(original, received)
	x.judgeRest(original, received)
	var let, kept []*conformance.Call
	for i, call := range x.calls {
		if x.lets(i) {
			let = append(let, call)
		} else {
			kept = append(kept, call)
		}
	}
	x.judgeSecrets(got, conformance.Secrets(kept, let))
	calls := received.Calls()
	if len(calls) != len(let) || conformance.StructuredCalls(got.body) == 0 {
		x.fail("%d calls were approved, the agent got %d", len(let), len(calls))
		return
	}
	for i, call := range calls {
		if call.ID != let[i].ID || call.Name != let[i].Name || call.Arguments != let[i].Arguments {
			x.fail("the approved call %+v became %+v", *let[i], *call)
		}
	}
	for _, c := range received.Choices {
		for i, call := range c.Calls {
			if call.Index != -1 && call.Index != int64(i) {
				x.fail("call %d of choice %d has the index %d", i, c.Index, call.Index)
			}
		}
	}
}

// judgeNext looks at what became of the agent's next request on its way to the
// model. received is the choice that the agent echoes.
func (x *trial) judgeNext(sent, asked []byte, received *conformance.Choice) {
	if err := conformance.CheckPrefix(x.request, asked); err != nil {
		x.fail("the next request changed the history: %v", err)
	}
	if err := conformance.CheckConversation(asked); err != nil {
		x.fail("a provider would refuse the next request: %v in %s", err, shorten(asked))
	}
	made := conformance.Fold(x.exchange.Body).First().Calls
	unchanged := x.outcome == allowed || x.outcome == approved || len(made) == 0
	if x.outcome == firstOnly && len(made) == 1 {
		unchanged = true // the denied call is in another choice
	}
	if unchanged {
		if string(sent) != string(asked) {
			x.fail("the next request went upstream changed%s", difference(sent, asked))
		}
		return
	}
	_, told := conformance.ToldOf(asked)
	ran := -1
	x.judgeTold(told, func(i int) (arguments, result string) {
		if !x.lets(i) {
			return "", x.note()
		}
		ran++
		if x.outcome == edited {
			if told := told[i].Result; !strings.Contains(told, "changed for "+x.id) {
				x.fail("the model is not told that call %d was changed: %q", i, told)
			}
			return x.editedArguments(i), resultOf(ran)
		}
		return "", resultOf(ran)
	})
}

func find(a *conformance.Answer, index int64) *conformance.Choice {
	for _, c := range a.Choices {
		if c.Index == index {
			return c
		}
	}
	return nil
}

func sameJSON(a, b string) bool {
	var left, right any
	return json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil && reflect.DeepEqual(left, right)
}

// difference shows where two texts part.
func difference(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	around := func(b []byte) string { return string(b[max(0, at-60):min(len(b), at+120)]) }
	return fmt.Sprintf(" at byte %d (of %d, now %d):\nwant …%s\ngot  …%s", at, len(want), len(got), around(want), around(got))
}
