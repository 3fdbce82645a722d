package fakemodel

import (
	"github.com/tidwall/gjson"
)

// MessagesStream is the answer as a stream of the Messages API, to a request
// with that body.
func (a Answer) MessagesStream(request []byte) *MessagesStream {
	s := &MessagesStream{ID: a.ID, Model: or(a.Model, gjson.GetBytes(request, "model").String()), Usage: a.Usage, Fragment: a.Fragment}
	s.Begin()
	for _, part := range a.parts() {
		switch {
		case part.Item != "":
			s.Block(part.Item)
		case part.Call != nil:
			s.ToolUse(or(part.Call.ID, s.madeUpID()), part.Call.Name, part.Call.Arguments)
		case part.Reasoning != "":
			if thinks(request) {
				s.Thinking(part.Reasoning)
			}
		case part.Text != "":
			s.Text(part.Text)
		}
	}
	return s.End(a.stopReason())
}

func (s *MessagesStream) madeUpID() string {
	return "toolu_01" + digest(or(s.ID, defaultMessageID), string(rune('a'+len(s.content))))[:22]
}

// thinks reports whether a request has thinking enabled.
func thinks(request []byte) bool {
	kind := gjson.GetBytes(request, "thinking.type").String()
	return kind == "enabled" || kind == "adaptive"
}

// stopReason is why the answer ends, in the words of the Messages API.
func (a Answer) stopReason() string {
	switch a.Finish {
	case "":
		for _, part := range a.parts() {
			if part.Call != nil || gjson.Get(part.Item, "type").String() == "tool_use" {
				return "tool_use"
			}
		}
		return "end_turn"
	case "stop":
		return "end_turn"
	case "tool_calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	}
	return a.Finish
}
