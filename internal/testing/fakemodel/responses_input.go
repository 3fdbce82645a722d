package fakemodel

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// inputItems are the items of a request's input. A text is a user's message; a
// reference is replaced by the item that it names.
func (m *memory) inputItems(body []byte) ([]gjson.Result, *refusal) {
	input := gjson.GetBytes(body, "input")
	switch {
	case input.Type == gjson.String:
		return []gjson.Result{gjson.Parse(`{"type":"message","role":"user","content":` + quote(input.Str) + `}`)}, nil
	case !input.Exists():
		return nil, nil
	case !input.IsArray():
		return nil, invalid("input", "Invalid type for 'input': expected one of an array of input items or a string.")
	}
	items := input.Array()
	for i, item := range items {
		if item.Get("type").String() != "item_reference" {
			continue
		}
		made, ok := m.items[item.Get("id").String()]
		if !ok || !made.stored {
			return nil, notPersisted(item.Get("id").String())
		}
		items[i] = made.item
	}
	return items, nil
}

// responsesConversation is the conversation in items.
// Consecutive items of the assistant's side are one message.
func responsesConversation(body []byte, items []gjson.Result) Conversation {
	c := Conversation{API: Responses, Model: gjson.GetBytes(body, "model").String()}
	if instructions := gjson.GetBytes(body, "instructions").String(); instructions != "" {
		c.Messages = append(c.Messages, Message{Role: "system", Content: instructions})
	}
	types := itemTypes()
	for _, item := range items {
		kind := item.Get("type").String()
		switch {
		case kind == "message" || kind == "":
			c.say(item.Get("role").String(), textOf(item.Get("content")))
		case types[kind].asked != nil && !hosted(item):
			tool, arguments := types[kind].asked(item)
			c.call(Call{ID: callID(item), Name: tool, Arguments: arguments, Custom: kind == "custom_tool_call"})
		case isOutput(kind) && callID(item) != "":
			c.Messages = append(c.Messages, Message{Role: "tool", ToolCallID: callID(item), Content: outputText(item)})
		}
	}
	return c
}

func (c *Conversation) say(role, text string) {
	if role == "assistant" && c.Last().Role == role {
		c.Messages[len(c.Messages)-1].Content += text
		return
	}
	c.Messages = append(c.Messages, Message{Role: role, Content: text})
}

func (c *Conversation) call(call Call) {
	c.say("assistant", "")
	last := &c.Messages[len(c.Messages)-1]
	last.Calls = append(last.Calls, call)
}

// callID is the id by which a call and its output find each other.
func callID(item gjson.Result) string {
	switch item.Get("type").String() {
	case "mcp_approval_request":
		return item.Get("id").String()
	case "mcp_approval_response":
		return item.Get("approval_request_id").String()
	case "local_shell_call_output":
		if !item.Get("call_id").Exists() {
			return item.Get("id").String()
		}
	}
	return item.Get("call_id").String()
}

// isOutput reports whether items of a type answer calls.
func isOutput(kind string) bool {
	for _, t := range itemTypes() {
		if t.output != "" && t.output == kind {
			return true
		}
	}
	return false
}

// outputText is the content of an output as one text.
func outputText(item gjson.Result) string {
	switch item.Get("type").String() {
	case "mcp_approval_response":
		if item.Get("approve").Bool() {
			return "approved"
		}
		return strings.TrimSpace("denied " + item.Get("reason").String())
	case "apply_patch_call_output":
		return strings.TrimSpace(item.Get("status").String() + " " + item.Get("output").String())
	case "tool_search_output":
		return item.Get("tools").Raw
	}
	output := item.Get("output")
	if output.IsObject() {
		return output.Raw
	}
	text := textOf(output)
	if output.IsArray() { // of a shell
		for _, command := range output.Array() {
			text += command.Get("stdout").String() + command.Get("stderr").String()
		}
	}
	return text
}

func notPersisted(id string) *refusal {
	return invalid("input", fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
		"Try again with `store` set to true, or remove this item from your input.", id))
}
