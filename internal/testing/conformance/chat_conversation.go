package conformance

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// CheckConversation judges the body of a Chat Completions request as a strict
// provider does: roles are known, every call is answered exactly once directly
// after the message that makes it, and nothing is answered that was not called.
func CheckConversation(body []byte) error { return Chat.CheckConversation(body) }

func (chat) CheckConversation(body []byte) error {
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

func (chat) CheckPrefix(original, body []byte) error { return checkPrefix("messages", original, body) }

// checkPrefix returns an error if the array in a field of body does not begin with exactly
// that of original, byte for byte.
func checkPrefix(field string, original, body []byte) error {
	want, got := gjson.GetBytes(original, field).Array(), gjson.GetBytes(body, field).Array()
	for i, element := range want {
		if i >= len(got) {
			return fmt.Errorf("%s[%d] of the agent is missing", field, i)
		}
		if element.Raw != got[i].Raw {
			return fmt.Errorf("%s[%d] was %s, is %s", field, i, element.Raw, got[i].Raw)
		}
	}
	return nil
}

func (chat) Told(body []byte) []Told {
	_, told := ToldOf(body)
	return told
}

// ToldOf reads from the body of a Chat Completions request the results of the calls in its
// last assistant message that has any, and that message.
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
					told[i].Result = joined(m.Get("content"))
				}
			}
		case m.Get("role").String() == "function" && len(told) > 0:
			told[0].Result = joined(m.Get("content"))
		}
	}
	return message, told
}

func asked(entry gjson.Result) Call {
	if custom := entry.Get("custom"); entry.Get("type").String() == "custom" {
		return Call{ID: entry.Get("id").String(), Name: custom.Get("name").String(), Arguments: custom.Get("input").String(), Custom: true}
	}
	function := entry.Get("function")
	return Call{ID: entry.Get("id").String(), Name: function.Get("name").String(), Arguments: text(function.Get("arguments"))}
}
