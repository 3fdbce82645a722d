package conformance

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// CheckConversation judges the body of a Chat Completions request as a strict
// provider does: roles are known, every call is answered exactly once directly
// after the message that makes it, and nothing is answered that was not called.
func CheckConversation(body []byte) error {
	if !gjson.ValidBytes(body) {
		return fmt.Errorf("the body is not JSON")
	}
	open := make(map[string]bool)
	function := "" // the legacy call that waits for its result
	for i, m := range gjson.GetBytes(body, "messages").Array() {
		role, id := m.Get("role").String(), m.Get("tool_call_id").String()
		switch {
		case role == "tool" && !open[id]:
			return fmt.Errorf("messages[%d]: a tool message for %q, which is no open call", i, id)
		case role == "tool":
			delete(open, id)
			continue
		case role == "function" && m.Get("name").String() != function:
			return fmt.Errorf("messages[%d]: a result of function %q, which was not called", i, m.Get("name"))
		case role == "function":
			function = ""
			continue
		}
		if len(open) > 0 || function != "" {
			return fmt.Errorf("messages[%d]: calls %v %s have no result before it", i, keys(open), function)
		}
		switch role {
		case "system", "developer", "user", "assistant":
		default:
			return fmt.Errorf("messages[%d]: unknown role %q", i, role)
		}
		for _, call := range m.Get("tool_calls").Array() {
			if id := call.Get("id").String(); open[id] {
				return fmt.Errorf("messages[%d]: two calls have the id %q", i, id)
			}
			open[call.Get("id").String()] = true
		}
		function = m.Get("function_call.name").String()
	}
	if len(open) > 0 || function != "" {
		return fmt.Errorf("calls %v %s have no result at the end", keys(open), function)
	}
	return nil
}

func keys(set map[string]bool) []string {
	var all []string
	for key := range set {
		all = append(all, key)
	}
	return all
}

// CheckPrefix says where the messages of body do not begin with exactly those
// of original, byte for byte, or nil.
func CheckPrefix(original, body []byte) error {
	want, got := gjson.GetBytes(original, "messages").Array(), gjson.GetBytes(body, "messages").Array()
	for i, message := range want {
		if i >= len(got) {
			return fmt.Errorf("messages[%d] of the agent is missing", i)
		}
		if message.Raw != got[i].Raw {
			return fmt.Errorf("messages[%d] was %s, is %s", i, message.Raw, got[i].Raw)
		}
	}
	return nil
}

// Told is one call as the model is shown it, with what it is told of it.
type Told struct {
	Call   Call
	Result string
}

// ToldOf reads from the body of a request what the model is told of the calls
// in its last assistant message that has any.
func ToldOf(body []byte) (message gjson.Result, told []Told) {
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		entries, legacy := m.Get("tool_calls").Array(), m.Get("function_call")
		switch {
		case m.Get("role").String() == "assistant" && (len(entries) > 0 || legacy.IsObject()):
			message, told = m, nil
			for _, entry := range entries {
				told = append(told, Told{Call: asked(entry)})
			}
			if legacy.IsObject() {
				told = append(told, Told{Call: Call{Name: legacy.Get("name").String(), Arguments: legacy.Get("arguments").String(), Legacy: true}})
			}
		case m.Get("role").String() == "tool":
			for i := range told {
				if told[i].Call.ID == m.Get("tool_call_id").String() {
					told[i].Result = content(m)
				}
			}
		case m.Get("role").String() == "function" && len(told) > 0:
			told[0].Result = content(m)
		}
	}
	return message, told
}

// content is a message's text, also where it was sent in parts.
func content(m gjson.Result) string {
	c := m.Get("content")
	if !c.IsArray() {
		return c.String()
	}
	joined := ""
	for _, part := range c.Array() {
		joined += part.Get("text").String()
	}
	return joined
}

func asked(entry gjson.Result) Call {
	if custom := entry.Get("custom"); entry.Get("type").String() == "custom" {
		return Call{ID: entry.Get("id").String(), Name: custom.Get("name").String(), Arguments: custom.Get("input").String(), Custom: true}
	}
	function := entry.Get("function")
	return Call{ID: entry.Get("id").String(), Name: function.Get("name").String(), Arguments: text(function.Get("arguments"))}
}
