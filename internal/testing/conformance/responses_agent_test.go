//go:build conformance

package conformance_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/heldcall/heldcall/internal/testing/conformance"
)

// responsesAgent is an agent of the Responses API.
type responsesAgent struct{}

func (responsesAgent) path() string { return "/responses" }

func (responsesAgent) settings() []string {
	return []string{
		"model", "stream", "tools", "instructions", "metadata", "store", "include", "reasoning", "text", "parallel_tool_calls",
		"max_output_tokens", "stream_options",
	}
}

func (responsesAgent) first(x *trial) []byte {
	body := x.exchange.RequestBody
	if !gjson.ParseBytes(body).IsObject() {
		body = fmt.Appendf(nil, `{"model":"recorded","stream":%t,"input":[{"role":"user","content":"Go."}]}`, x.exchange.Streamed)
		if tools := responsesTools(x); tools != "[]" {
			body = with(body, "tools", tools)
		}
	}
	if tools := gjson.GetBytes(body, "tools"); tools.Exists() {
		body = with(body, "tools", openParameters(tools.Raw))
	}
	body = with(body, "metadata", `{"trial":`+quote(x.id)+`}`)
	switch x.habit {
	case stateless:
		body = with(with(body, "store", "false"), "include", `["reasoning.encrypted_content"]`)
	case inConversation:
		body = with(body, "conversation", `{"id":`+quote("conv_"+x.id)+`}`)
	}
	return body
}

// responsesTools are the tools that the recorded response lists, or those that its calls need.
func responsesTools(x *trial) string {
	for line := range strings.Lines(string(x.exchange.Body)) {
		response := gjson.Parse(strings.TrimPrefix(line, "data: ")).Get("response")
		if tools := response.Get("tools").Array(); len(tools) > 0 {
			return response.Get("tools").Raw
		}
	}
	if tools := gjson.GetBytes(x.exchange.Body, "tools"); tools.IsArray() {
		return tools.Raw
	}
	var entries []string
	for _, call := range x.toolCalls() {
		entry := fmt.Sprintf(`{"type":"function","name":%q,"parameters":{"type":"object"}}`, call.Name)
		switch call.Kind {
		case "":
		case "custom_tool_call":
			entry = fmt.Sprintf(`{"type":"custom","name":%q}`, call.Name)
		case "tool_search_call":
			entry = `{"type":"tool_search","execution":"client"}`
		case "mcp_approval_request":
			entry = `{"type":"mcp","server_label":"s","server_url":"https://mcp.example","require_approval":"always"}`
		default:
			entry = fmt.Sprintf(`{"type":%q}`, call.Name)
		}
		if !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
	}
	return "[" + strings.Join(entries, ",") + "]"
}

func (responsesAgent) next(x *trial, received *conformance.Answer) []byte {
	choice := received.First()
	var told []string
	for i, call := range choice.Calls {
		told = append(told, callOutput(call, resultOf(i)))
	}
	if len(told) == 0 {
		told = []string{fmt.Sprintf(`{"role":"user","content":%q}`, goOn)}
	}
	alone := "[" + strings.Join(told, ",") + "]"
	history := gjson.GetBytes(x.request, "input").Raw
	if !strings.HasPrefix(strings.TrimSpace(history), "[") {
		history = `[{"role":"user","content":` + history + `}]`
	}
	switch x.habit {
	case goesOn:
		return with(with(x.request, "input", alone), "previous_response_id", quote(received.IDs[0]))
	case inConversation:
		return with(x.request, "input", alone)
	}
	var echoed []string
	for _, item := range choice.Items {
		echoed = append(echoed, echo(x.habit, item))
	}
	return with(x.request, "input", longer(history, append(echoed, told...)...))
}

// echo is an item as an agent sends it back.
func echo(h habit, item string) string {
	id, kind := gjson.Get(item, "id").String(), gjson.Get(item, "type").String()
	switch {
	case h == refers && id != "":
		return `{"type":"item_reference","id":` + quote(id) + `}`
	case h == stateless && kind != "reasoning":
		// Many agents know nothing of items' ids where nothing is stored.
		plain, err := sjson.Delete(item, "id")
		if err != nil {
			panic(fmt.Sprintf("internal error: %v in %s", err, item))
		}
		return plain
	}
	return item
}

// callOutput is the result of a call, in the shape that its type wants.
func callOutput(call *conformance.Call, result string) string {
	id, text := quote(call.ID), quote(result)
	switch call.Kind {
	case "":
		return `{"type":"function_call_output","call_id":` + id + `,"output":` + text + `}`
	case "local_shell_call":
		return `{"type":"local_shell_call_output","id":` + id + `,"output":` + text + `}`
	case "shell_call":
		return `{"type":"shell_call_output","call_id":` + id + `,"output":[{"stdout":` + text + `,"stderr":"","outcome":{"type":"exit","exit_code":0}}]}`
	case "apply_patch_call":
		return `{"type":"apply_patch_call_output","call_id":` + id + `,"status":"completed","output":` + text + `}`
	case "computer_call":
		return `{"type":"computer_call_output","call_id":` + id + `,"output":{"type":"computer_screenshot","image_url":` + text + `}}`
	case "tool_search_call":
		return `{"type":"tool_search_output","call_id":` + id + `,"execution":"client","status":"completed","tools":[{"type":"function","name":"found","description":` + text + `}]}`
	}
	return `{"type":"` + call.Kind + `_output","call_id":` + id + `,"output":` + text + `}`
}
