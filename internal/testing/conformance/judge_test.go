//go:build conformance

package conformance_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/internal/testing/cassettes"
	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// judge looks at the first answer. It returns false when the trial ends there.
func (x *trial) judge(got reply, asked []asked) bool {
	if why := x.failsClosed(); why != "" {
		x.judgeClosed(got, asked)
		return false
	}
	if got.err != nil {
		x.fail("the answer was cut off: %v", got.err)
	}
	if got.status != x.exchange.Status {
		x.fail("status %d became %d: %s", x.exchange.Status, got.status, shorten(got.body))
	}
	if want, is := x.exchange.Header.Get("Content-Type"), got.header.Get("Content-Type"); want != is {
		x.fail("content type %q became %q", want, is)
	}
	if x.unchanged() {
		x.judgeUnchanged(got, asked)
	} else {
		x.judgeChanged(got, asked)
	}
	return x.method() != "GET"
}

func (x *trial) judgeUnchanged(got reply, asked []asked) {
	if string(got.body) != string(x.exchange.Body) {
		x.fail("the answer changed%s", difference(x.exchange.Body, got.body))
	}
	if len(asked) != 1 {
		x.fail("upstream was asked %d times", len(asked))
	}
}

// judgeClosed checks an answer that heldcall must not release: it is an error in the shape of
// the agent's API, without any part of a call.
func (x *trial) judgeClosed(got reply, asked []asked) {
	x.judgeSecrets(got, asked, conformance.Secrets(x.calls, nil))
	received := x.dialect.Fold(got.body)
	if len(received.Errors) == 0 {
		x.fail("no error in %d %s", got.status, shorten(got.body))
	}
	for _, e := range received.Errors {
		if !strings.Contains(e, "answer_not_understood") {
			x.fail("the error is %s, not answer_not_understood", e)
		}
	}
	if x.dialect.StructuredCalls(got.body) > 0 {
		x.fail("a call passed: %s", shorten(got.body))
	}
	if got.err != nil {
		x.fail("the answer was cut off: %v", got.err)
	}
}

// judgeSecrets looks for what gives calls away in what the agent got.
func (x *trial) judgeSecrets(got reply, asked []asked, secrets []string) {
	var upstream [][]byte
	for _, a := range asked {
		upstream = append(upstream, a.answer)
	}
	for _, leak := range conformance.Leaks(x.dialect, secrets, got.body, upstream...) {
		x.fail("leak: %s", leak)
	}
}

// judgeChanged checks an answer with calls: rendered, hidden from the agent or changed. A
// choice that has none of its calls left has the model's continuation in their place, or a text where
// the answer cannot continue.
func (x *trial) judgeChanged(got reply, asked []asked) {
	if !x.released() && string(got.body) == string(x.exchange.Body) {
		x.fail("the answer is as upstream sent it")
	}
	original, received := x.dialect.Fold(x.exchange.Body), x.dialect.Fold(got.body)
	if x.joins() {
		original.First().Reasoning = startsAgain[x.exchange.Name()] + original.First().Reasoning
	}
	x.judgeForm(got, original, received)
	x.judgeCalls(got, asked, received)
	lost, continued := x.lost(original), 0
	last := x.closingText()
	if x.continues(original) {
		continued, last = len(lost), continuationText
	}
	for _, c := range received.Choices {
		said := find(original, c.Index)
		switch {
		case said == nil:
			x.fail("choice %d was made up", c.Index)
		case lost[c.Index] != nil:
			x.judgeEnded(said, c, last)
		case c.Text != said.Text || c.Reasoning != said.Reasoning || !endsAlike(c.Finishes, said.Finishes):
			x.fail("choice %d was text %q, reasoning %q, finish %q and is text %q, reasoning %q, finish %q", c.Index,
				said.Text, said.Reasoning, said.Finishes, c.Text, c.Reasoning, c.Finishes)
		}
	}
	x.judgeUsage(original, received, int64(continued))
	if len(asked) != 1+continued {
		x.fail("upstream was asked %d times, want the request and %d continuations", len(asked), continued)
		return
	}
	if continued > 0 {
		x.judgeContinuation(asked[0], asked[1], lost[original.Choices[0].Index])
	}
}

// continues reports whether heldcall continues an answer that loses its calls: it has one choice, and no call of the
// old form of Chat Completions.
func (x *trial) continues(original *conformance.Answer) bool {
	legacy := slices.ContainsFunc(original.Calls(), func(c *conformance.Call) bool { return c.Legacy })
	return len(original.Choices) == 1 && !legacy && !asksForSeveral(x.exchange)
}

// asksForSeveral reports whether a recorded request asks for several choices.
func asksForSeveral(e cassettes.Exchange) bool { return gjson.GetBytes(e.RequestBody, "n").Int() > 1 }

// closingText is the end of a choice that lost its calls and cannot continue.
func (x *trial) closingText() string {
	if x.outcome == answered {
		return notice.NothingWritten()
	}
	return notice.CallsDenied()
}

// endsAlike reports whether a choice has the last of its finish reasons, and none that upstream did not give: earlier
// ones do not count, and are held with a call.
func endsAlike(received, original []string) bool {
	if len(received) == 0 || len(original) == 0 {
		return len(received) == len(original)
	}
	madeUp := slices.ContainsFunc(received, func(reason string) bool { return !slices.Contains(original, reason) })
	return !madeUp && received[len(received)-1] == original[len(original)-1] && len(received) <= len(original)
}

// lost are the choices that lose all their calls, by their index, each with the numbers of its calls.
func (x *trial) lost(original *conformance.Answer) map[int64][]int {
	choices := make(map[int64][]int)
	n := 0
	for _, c := range original.Choices {
		lost := len(c.Calls) > 0
		var numbers []int
		for range c.Calls {
			lost = lost && !x.handed(n)
			numbers = append(numbers, n)
			n++
		}
		if lost {
			choices[c.Index] = numbers
		}
	}
	return choices
}

// judgeCalls compares the calls that the agent got with those it was to get, and
// looks for what it was not to get.
func (x *trial) judgeCalls(got reply, asked []asked, received *conformance.Answer) {
	let, kept := x.handedOver()
	calls := received.Calls()
	if x.outcome == edited {
		for _, call := range let {
			kept = append(kept, &conformance.Call{Arguments: call.Arguments})
		}
		x.judgeSecrets(got, asked, conformance.Secrets(kept, calls))
	} else {
		x.judgeSecrets(got, asked, conformance.Secrets(kept, let))
	}
	if n := x.dialect.StructuredCalls(got.body); n > 0 && len(let) == 0 {
		x.fail("%d denied calls are in the answer: %s", n, shorten(got.body))
	}
	if len(calls) != len(let) {
		x.fail("%d calls were approved, the agent got %d", len(let), len(calls))
		return
	}
	for i, call := range calls {
		want := *let[i]
		want.Index = call.Index // its place is judged with the form
		if x.outcome == edited {
			want.Arguments = x.editedArguments(i)
			if sameJSON(call.Arguments, want.Arguments) {
				want.Arguments = call.Arguments
			}
		}
		if want.Arguments == "" && call.Arguments == "{}" { // in canonical form
			want.Arguments = "{}"
		}
		if *call != want {
			x.fail("call %+v became %+v", want, *call)
		}
	}
}

// judgeEnded compares a choice that lost its calls with the text that it had before, and with the text at its end.
func (x *trial) judgeEnded(said, c *conformance.Choice, end string) {
	if len(c.Finishes) != 1 || x.callsFollow(c.Finishes[0]) {
		x.fail("choice %d ends with %q", c.Index, c.Finishes)
	}
	if !strings.HasPrefix(c.Text, said.Text) || !strings.HasSuffix(c.Text, end) {
		x.fail("text %q became %q", said.Text, c.Text)
	}
	if !strings.HasPrefix(c.Reasoning, said.Reasoning) {
		x.fail("reasoning %q became %q", said.Reasoning, c.Reasoning)
	}
	if c.Roles > max(said.Roles, 1) {
		x.fail("choice %d names its role %d times", c.Index, c.Roles)
	}
}

// callsFollow reports whether the reason why an answer ends promises calls.
func (x *trial) callsFollow(finish string) bool {
	return strings.HasSuffix(finish, "_calls") || finish == "function_call" || finish == "tool_use"
}

// judgeForm looks at what every answer must be, whatever became of its calls. What
// was wrong with it already as upstream sent it may stay so.
func (x *trial) judgeForm(got reply, original, received *conformance.Answer) {
	known := x.dialect.CheckAnswer(x.exchange.Body)
	for _, p := range x.dialect.CheckAnswer(got.body) {
		same := func(k conformance.Problem) bool { return k.Kind == p.Kind }
		if !slices.ContainsFunc(known, same) {
			x.fail("a client would object: %s", shorten([]byte(p.String())))
		}
	}
	if len(received.Errors) != len(original.Errors) {
		x.fail("errors %q", received.Errors)
	}
	let, _ := x.handedOver()
	if want := x.exchange.Dialect == cassettes.Chat && x.exchange.Streamed && (original.Done > 0 || len(let) == 0); want && received.Done == 0 {
		x.fail("[DONE] came %d times", received.Done)
	}
	if len(received.Choices) != len(original.Choices) {
		x.fail("%d choices became %d", len(original.Choices), len(received.Choices))
	}
	for _, id := range received.IDs {
		if !slices.Contains(original.IDs, id) {
			x.fail("the answer has the id %q beside %q", id, original.IDs)
		}
	}
}

// judgeUsage compares the usage with what all answers cost together.
func (x *trial) judgeUsage(original, received *conformance.Answer, continuations int64) {
	if original.Usage == (conformance.Usage{}) {
		return
	}
	prompt, complete := continuations*continuationPrompt, continuations*continuationComplete
	want := conformance.Usage{
		Prompt: original.Usage.Prompt + prompt, Completion: original.Usage.Completion + complete, Total: original.Usage.Total + prompt + complete,
	}
	if received.Usage != want {
		x.fail("usage %+v became %+v, want %+v", original.Usage, received.Usage, want)
	}
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
