//go:build conformance

package conformance_test

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// judgeContinuation checks the request that contains the denials for the model.
func (x *trial) judgeContinuation(first, is asked, calls []int) {
	if !x.judgeShown("the continuation", first, is) {
		return
	}
	for _, field := range x.agent.settings() {
		if was, is := gjson.GetBytes(x.request, field).Raw, gjson.GetBytes(is.body, field).Raw; was != is {
			x.fail("the continuation has %s %s, not %s", field, is, was)
		}
	}
	// After an answer the agent still expects the call of some tool that it forces.
	if choice := gjson.GetBytes(is.body, "tool_choice"); forces(choice) && (x.outcome != answered || choice.IsObject()) {
		x.fail("the continuation forces a tool: tool_choice %s", choice.Raw)
	}
	x.judgeTold(is, calls, func(i int) (string, string) {
		if x.lets(i) {
			return "", "true" // the approval that the provider asked for
		}
		return "", x.note()
	})
}

// forces reports whether a tool_choice makes the model call a tool.
func forces(choice gjson.Result) bool {
	how := choice.String()
	if choice.IsObject() {
		how = choice.Get("type").String()
	}
	if how == "allowed_tools" {
		how = choice.Get("mode").String()
	}
	return how != "" && how != "auto" && how != "none"
}

// judgeShown looks at what the model is shown by a request: a conversation that a
// provider takes, which begins as the first one did, with what was thought.
func (x *trial) judgeShown(name string, first, is asked) bool {
	if is.refusal != nil {
		x.fail("a provider would refuse %s: %v in %s", name, is.refusal, shorten(is.body))
		return false
	}
	if err := x.dialect.CheckConversation(is.shown); err != nil {
		x.fail("a provider would refuse %s: %v in %s", name, err, shorten(is.shown))
	}
	if err := x.dialect.CheckPrefix(first.shown, is.shown); err != nil {
		x.fail("%s changed the history: %v", name, err)
	}
	if err := x.dialect.CheckThoughts(x.exchange.Body, is.shown); err != nil {
		x.fail("%s lost what the model thought: %v", name, err)
	}
	return true
}

// judgeTold checks the results that the model gets for calls, given by their numbers. want
// returns for each the arguments that ran ("" for the model's own) and a text that
// its result contains.
func (x *trial) judgeTold(is asked, calls []int, want func(i int) (arguments, result string)) {
	told := x.dialect.Told(is.shown)
	if len(told) != len(calls) {
		x.fail("the model made %d calls and is shown %d in %s", len(calls), len(told), shorten(is.shown))
		return
	}
	for n, t := range told {
		i, made := calls[n], x.calls[calls[n]]
		arguments, result := want(i)
		same := t.Call.Arguments == made.Arguments || sameJSON(t.Call.Arguments, made.Arguments)
		if arguments != "" {
			same = t.Call.Arguments == arguments || sameJSON(t.Call.Arguments, arguments)
		}
		if !same && !(made.Arguments == "" && t.Call.Arguments == "{}") {
			x.fail("the model is shown the arguments %q of call %d", t.Call.Arguments, i)
		}
		if t.Call.Name != made.Name || (made.ID != "" && t.Call.ID != made.ID) {
			x.fail("call %d is shown to the model as %q %q", i, t.Call.ID, t.Call.Name)
		}
		if !x.tells(is, t, result) {
			x.fail("of call %d the model is told %q, without %q", i, t.Result, result)
		}
	}
}

// tells reports whether a result contains a text. If the API has no place for a text in the
// result, the text is beside it.
func (x *trial) tells(is asked, t conformance.Told, text string) bool {
	switch t.Call.Kind {
	case "computer_call", "tool_search_call":
		quoted := quote(text)
		return strings.Contains(string(is.shown), quoted[1:len(quoted)-1])
	}
	return strings.Contains(t.Result, text)
}

// judgeNext looks at what became of the agent's next request on its way to the
// model.
func (x *trial) judgeNext(sent []byte, first, is asked) {
	if !x.judgeShown("the next request", first, is) {
		return
	}
	var made []int // the calls of the choice that the agent reads, which is the first
	for i := range x.dialect.Fold(x.exchange.Body).First().Calls {
		made = append(made, i)
	}
	unchanged := x.unchanged() || len(made) == 0
	if x.outcome == firstOnly && len(made) == 1 {
		unchanged = true // the denied call is in another choice
	}
	if unchanged {
		if string(sent) != string(is.body) {
			x.fail("the next request went upstream changed%s", difference(sent, is.body))
		}
		return
	}
	told := x.dialect.Told(is.shown)
	ran := -1
	x.judgeTold(is, made, func(i int) (arguments, result string) {
		switch {
		case !x.lets(i):
			return "", x.note()
		case !x.handed(i):
			return "", "true"
		}
		ran++
		if x.outcome != edited {
			return "", resultOf(ran)
		}
		if !x.tells(is, told[i], "changed for "+x.id) {
			x.fail("the model is not told that call %d was changed: %q", i, told[i].Result)
		}
		if !x.habit.remembered() {
			return x.editedArguments(i), resultOf(ran)
		}
		if !x.tells(is, told[i], x.editedArguments(i)) {
			x.fail("the model is not told what call %d ran with: %q", i, told[i].Result)
		}
		return "", resultOf(ran)
	})
}
