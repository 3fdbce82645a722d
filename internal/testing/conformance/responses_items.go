package conformance

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// responses is OpenAI's Responses API.
type responses struct{}

// callType is a type of output item that the agent has to answer.
type callType struct {
	output    string // the type of the item that answers it
	tool      string // the name under which people are asked, "" for the item's own
	arguments string // the field that holds its arguments
}

var callTypes = map[string]callType{
	"function_call":        {"function_call_output", "", "arguments"},
	"custom_tool_call":     {"custom_tool_call_output", "", "input"},
	"local_shell_call":     {"local_shell_call_output", "local_shell", "action"},
	"shell_call":           {"shell_call_output", "shell", "action"},
	"apply_patch_call":     {"apply_patch_call_output", "apply_patch", "operation"},
	"computer_call":        {"computer_call_output", "computer", "action"},
	"tool_search_call":     {"tool_search_output", "tool_search", "arguments"},
	"mcp_approval_request": {"mcp_approval_response", "", "arguments"},
}

// isCall reports whether an agent has to answer an item. What the provider runs
// itself is no call.
func isCall(item gjson.Result) bool {
	switch kind := item.Get("type").String(); kind {
	case "tool_search_call":
		return item.Get("execution").String() == "client"
	case "shell_call":
		where := item.Get("environment.type").String()
		return where == "" || where == "local"
	default:
		_, ok := callTypes[kind]
		return ok
	}
}

// isOutput reports whether an item answers a call.
func isOutput(item gjson.Result) bool {
	kind := item.Get("type").String()
	for _, call := range callTypes {
		if call.output == kind {
			return true
		}
	}
	return false
}

// callOf is a call as people are asked about it.
func callOf(item gjson.Result) *Call {
	kind := item.Get("type").String()
	of := callTypes[kind]
	call := &Call{ID: callID(item), Name: item.Get("name").String(), Arguments: text(item.Get(of.arguments)), Item: item.Get("id").String()}
	if of.tool != "" {
		call.Name = of.tool
	}
	switch kind {
	case "function_call":
		return call
	case "custom_tool_call":
		call.Custom = true
	case "mcp_approval_request":
		call.Name = "mcp__" + item.Get("server_label").String() + "__" + call.Name
	}
	call.Kind = kind
	return call
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

// outputOf is the content of an output as one text.
func outputOf(item gjson.Result) string {
	switch item.Get("type").String() {
	case "mcp_approval_response":
		return strings.TrimSpace(item.Get("approve").String() + " " + item.Get("reason").String())
	case "tool_search_output":
		return item.Get("tools").Raw
	}
	output := item.Get("output")
	said := item.Get("status").String() + " " + joined(output)
	for _, command := range output.Array() {
		said += command.Get("stdout").String() + command.Get("stderr").String()
	}
	return strings.TrimSpace(said)
}

// callEvents are the prefixes of the types of events that carry pieces of a call.
var callEvents = []string{
	"response.function_call_arguments.", "response.custom_tool_call_input.",
	"response.apply_patch_call_operation_diff.", "response.shell_call_command.",
}

func isCallEvent(kind string) bool {
	return slices.ContainsFunc(callEvents, func(begin string) bool { return strings.HasPrefix(kind, begin) })
}

func (responses) StructuredCalls(body []byte) int {
	n := 0
	count := func(item gjson.Result) {
		if isCall(item) {
			n++
		}
	}
	each(body, func(data gjson.Result) {
		if isCallEvent(data.Get("type").String()) {
			n++
		}
		count(data.Get("item"))
		for _, item := range append(data.Get("response.output").Array(), data.Get("output").Array()...) {
			count(item)
		}
	})
	return n
}

func (responses) Others(body []byte) []byte {
	return rest(body, func(value any) any {
		event, _ := value.(map[string]any)
		kind, _ := event["type"].(string)
		item, _ := event["item"].(map[string]any)
		if isCallEvent(kind) || (item != nil && isCall(gjson.ParseBytes(quoted(item)))) {
			return nil
		}
		for _, response := range []any{event["response"], event} {
			if r, ok := response.(map[string]any); ok {
				if output, ok := r["output"].([]any); ok {
					r["output"] = slices.DeleteFunc(output, func(item any) bool { return isCall(gjson.ParseBytes(quoted(item))) })
				}
			}
		}
		return event
	})
}
