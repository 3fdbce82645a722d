package fakemodel

import (
	"bytes"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Call is one tool call of an answer. Arguments is the text as the model wrote
// it, JSON or not.
type Call struct {
	ID        string
	Name      string
	Arguments string
	Custom    bool // of a custom tool, whose input is free text by contract
}

// Usage is the token count of an answer.
type Usage struct{ Prompt, Completion int }

// Answer is one model answer, to be sent whole or streamed in any of the APIs.
type Answer struct {
	ID      string // of the answer; "" means a fixed one
	Model   string
	Created int64
	// Reasoning is the model's reasoning before its text. As at the providers,
	// Responses has it as a summary if the request asks for one, Messages if the
	// request has thinking enabled, and Chat Completions as reasoning_content.
	Reasoning string
	Text      string
	Calls     []Call
	// Parts is the answer where it is more than reasoning, text and calls in this
	// order: then it replaces all three.
	Parts []Part
	// Finish is why the answer ends, in the words of Chat Completions (stop,
	// tool_calls, length, content_filter), for Messages in its own words too. ""
	// means what follows from the calls.
	Finish string
	Usage  Usage
	// Fragment is how many characters of text or arguments one event holds at
	// most; 0 means 4, about a token.
	Fragment int
}

// Part is one part of an answer: one of its fields is set.
type Part struct {
	Reasoning string
	Text      string
	Call      *Call
	// Item is an output item of Responses or a content block of Messages as JSON,
	// complete as it is at its end. It is streamed in the way of its type. Where
	// it has no id, and a call no call_id, one is made up. Chat Completions has
	// no place for it and leaves it out.
	Item string
}

// Reply sends the answer as the request asks for it: in the API of its path,
// streamed or whole.
func (a Answer) Reply(r *Request) Reply {
	switch apiOf(r.Path) {
	case Responses:
		s := a.ResponsesStream(r.Body)
		if r.Streamed() {
			return Events(s.Writes()...)
		}
		return Whole(200, s.Whole())
	case Messages:
		s := a.MessagesStream(r.Body)
		if r.Streamed() {
			return Events(s.Writes()...)
		}
		return Whole(200, s.Whole())
	}
	if r.Streamed() {
		return Events(a.Stream(r.IncludeUsage()).Writes()...)
	}
	return Whole(200, a.Whole())
}

// parts is the answer part by part. An empty answer has an empty text.
func (a Answer) parts() []Part {
	if len(a.Parts) > 0 {
		return a.Parts
	}
	var parts []Part
	if a.Reasoning != "" {
		parts = append(parts, Part{Reasoning: a.Reasoning})
	}
	if a.Text != "" || len(a.Calls) == 0 {
		parts = append(parts, Part{Text: a.Text})
	}
	for i := range a.Calls {
		parts = append(parts, Part{Call: &a.Calls[i]})
	}
	return parts
}

// calls are the calls of all parts.
func (a Answer) calls() []Call {
	var calls []Call
	for _, part := range a.parts() {
		if part.Call != nil {
			calls = append(calls, *part.Call)
		}
	}
	return calls
}

// said returns the reasoning and the text of all parts.
func (a Answer) said() (reasoning, text string) {
	for _, part := range a.parts() {
		reasoning += part.Reasoning
		text += part.Text
	}
	return reasoning, text
}

// named is the answer with an id for each call that has none.
func (a Answer) named(id func(i int) string) Answer {
	parts := append([]Part(nil), a.parts()...)
	n := 0
	for i := range parts {
		if parts[i].Call == nil {
			continue
		}
		call := *parts[i].Call
		call.ID = or(call.ID, id(n))
		parts[i].Call = &call
		n++
	}
	a.Parts = parts
	return a
}

// counted is the answer with a token count that follows from the sizes of the
// request and the answer, where it has none.
func (a Answer) counted(body []byte) Answer {
	if a.Usage == (Usage{}) {
		_, text := a.said()
		a.Usage = Usage{Prompt: len(body) / 4, Completion: 1 + len(text)/4 + 12*len(a.calls())}
	}
	return a
}

// fragments cuts text into pieces of at most size characters.
func fragments(text string, size int) []string {
	var pieces []string
	for text != "" {
		n, count := 0, 0
		for n < len(text) && count < size {
			_, width := utf8.DecodeRuneInString(text[n:])
			n, count = n+width, count+1
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

// eventLog is a stream of events in the making, each with its framing.
type eventLog struct{ events [][]byte }

// Events returns the stream's events, each with its framing.
func (l *eventLog) Events() [][]byte { return l.events }

// Bytes is the whole body.
func (l *eventLog) Bytes() []byte { return bytes.Join(l.events, nil) }

// Writes is the body with one write an event.
func (l *eventLog) Writes() []Write {
	writes := make([]Write, len(l.events))
	for i, event := range l.events {
		writes[i].Bytes = event
	}
	return writes
}

func (l *eventLog) add(event string) { l.events = append(l.events, []byte(event)) }

// rawField is a field of a request as JSON on one line, or fallback where it is
// absent.
func rawField(body []byte, name, fallback string) string {
	if value := gjson.GetBytes(body, name); value.Exists() {
		return compact(value.Raw)
	}
	return fallback
}
