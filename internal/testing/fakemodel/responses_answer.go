package fakemodel

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
)

// ResponsesStream is the answer as a stream of the Responses API, to a request
// with that body.
func (a Answer) ResponsesStream(request []byte) *ResponsesStream {
	s := &ResponsesStream{ID: a.ID, Model: a.Model, Created: a.Created, Request: request, Fragment: a.Fragment}
	s.Begin()
	parts := a.parts()
	for i, part := range parts {
		status := "completed"
		if i == len(parts)-1 && a.Finish == "length" {
			status = "incomplete"
		}
		s.Item(s.item(part, parts[i+1:], status))
	}
	switch a.Finish {
	case "length":
		return s.Incomplete("max_output_tokens", a.Usage)
	case "content_filter":
		return s.Incomplete("content_filter", a.Usage)
	}
	return s.Complete(a.Usage)
}

// item is a part of an answer as an output item. rest is what follows it.
func (s *ResponsesStream) item(part Part, rest []Part, status string) string {
	switch {
	case part.Item != "":
		return part.Item
	case part.Call != nil:
		return callItem(*part.Call, status)
	case part.Reasoning != "":
		return s.reasoning(part.Reasoning)
	}
	phase := "final_answer"
	if slices.ContainsFunc(rest, func(p Part) bool { return p.Call != nil || p.Item != "" }) {
		phase = "commentary"
	}
	return fmt.Sprintf(`{"type":"message","status":%q,"content":[{"type":"output_text","annotations":[],"logprobs":[],"text":%s}],`+
		`"phase":%q,"role":"assistant"}`, status, quote(part.Text), phase)
}

// callItem is a call as an item. Its call_id is made up where it has no id.
func callItem(c Call, status string) string {
	kind, field := "function_call", "arguments"
	if c.Custom {
		kind, field = "custom_tool_call", "input"
	}
	item := fmt.Sprintf(`{"type":%q,"status":%q,%q:%s`, kind, status, field, quote(c.Arguments))
	if c.ID != "" {
		item += `,"call_id":` + quote(c.ID)
	}
	return item + `,"name":` + quote(c.Name) + "}"
}

// reasoning is a reasoning item: with a summary if the request asks for one, and
// with its encrypted content if the request includes that.
func (s *ResponsesStream) reasoning(text string) string {
	encrypted, summary := "", "[]"
	for _, include := range gjson.GetBytes(s.Request, "include").Array() {
		if include.String() == "reasoning.encrypted_content" {
			encrypted = `"encrypted_content":"",`
		}
	}
	if asked := gjson.GetBytes(s.Request, "reasoning.summary"); asked.Type == gjson.String {
		summary = `[{"type":"summary_text","text":` + quote(text) + `}]`
	}
	return fmt.Sprintf(`{"type":"reasoning",%s"summary":%s}`, encrypted, summary)
}
