// Package conformance replays recorded model traffic through the real heldcall
// and judges what the agent and the model each receive. Its test is run by
// make conformance.
//
// A [Dialect] reads and checks one wire API: the answer of a lenient client, the
// objections of a strict one, the places of calls, and the provider's objections
// to the requests that follow.
package conformance

import (
	"fmt"

	"github.com/heldcall/heldcall/internal/testing/cassettes"
)

// Dialect reads and judges one wire API.
type Dialect interface {
	// Fold reads an answer, streamed or whole, as a lenient client does.
	Fold(body []byte) *Answer
	// CheckAnswer lists what a strict client objects to in an answer.
	CheckAnswer(body []byte) []Problem
	// Others is the JSON of an answer with its calls taken out.
	Others(body []byte) []byte
	// StructuredCalls counts the values in the places of calls, in every event.
	StructuredCalls(body []byte) int
	// CheckConversation judges the body of a request as a strict provider does:
	// every call answered exactly once and in place, nothing answered that was not
	// called.
	CheckConversation(body []byte) error
	// CheckPrefix returns an error if the conversation in body does not begin with
	// exactly that of original, byte for byte.
	CheckPrefix(original, body []byte) error
	// CheckThoughts returns an error if the conversation in body does not contain the
	// reasoning of answer unchanged, together with the items that it belongs to.
	CheckThoughts(answer, body []byte) error
	// Told reads from the body of a request the results of the calls in its last turn
	// that has any.
	Told(body []byte) []Told
}

// Of is the dialect of a recording. The legacy text completion has no calls and
// is read like Chat Completions.
func Of(d cassettes.Dialect) Dialect {
	switch d {
	case cassettes.Responses:
		return Responses
	case cassettes.Messages:
		return Messages
	}
	return Chat
}

// The dialects.
var (
	Chat      Dialect = chat{}
	Responses Dialect = responses{}
	Messages  Dialect = messages{}
)

// Answer is what a lenient client makes of an answer, streamed or whole. Only
// Chat Completions has several choices.
type Answer struct {
	Choices   []*Choice // in order of first appearance
	IDs       []string  // distinct ids of the answer or its chunks, in order of appearance
	Usage     Usage     // the last one
	Done      int       // how often the end marker came
	Late      bool      // an event came after the end marker
	Errors    []string  // error objects, each as JSON
	Malformed []string  // data that is neither JSON nor the end marker
}

// Usage is the number of tokens that an answer reports.
type Usage struct{ Prompt, Completion, Total int64 }

// Choice is one choice of an answer.
type Choice struct {
	Index     int64
	Text      string
	Reasoning string
	Roles     int // how often a role was named
	Finishes  []string
	Calls     []*Call
	// Items are the output items of Responses and the content blocks of Messages
	// as they are when they are complete, each as JSON.
	Items []string
}

// Call is one call of a choice. Legacy is a function_call of Chat Completions,
// which has no id.
type Call struct {
	Index     int64 // as on the wire, or -1
	ID        string
	Name      string
	Arguments string
	Custom    bool // its input is free text
	Legacy    bool
	// Kind is the type of an output item of Responses that is no function call,
	// and Item its id.
	Kind string
	Item string
}

// Fixed reports whether the wire has no way to change the call's arguments. Such
// a call is answered by heldcall itself and never handed to an agent.
func (c *Call) Fixed() bool { return c.Kind == "mcp_approval_request" }

// Told is one call with its result as the model reads them.
type Told struct {
	Call   Call
	Result string
}

// Problem is an objection of a strict client. The kind is the same for every problem of its
// sort, so that those of a recording can be distinguished from new ones.
type Problem struct{ Kind, Detail string }

func (p Problem) String() string { return p.Kind + ": " + p.Detail }

// problems collects them.
type problems []Problem

func (p *problems) add(kind, format string, args ...any) {
	*p = append(*p, Problem{kind, fmt.Sprintf(format, args...)})
}

// Calls are the calls of all choices.
func (a *Answer) Calls() []*Call {
	var calls []*Call
	for _, c := range a.Choices {
		calls = append(calls, c.Calls...)
	}
	return calls
}

// First is the choice that most agents read: the one with index 0.
func (a *Answer) First() *Choice { return a.choice(0) }

func (a *Answer) choice(index int64) *Choice {
	for _, c := range a.Choices {
		if c.Index == index {
			return c
		}
	}
	c := &Choice{Index: index}
	a.Choices = append(a.Choices, c)
	return c
}
