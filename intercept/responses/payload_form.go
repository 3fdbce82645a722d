package responses

import (
	"strconv"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// callForm describes a type of items that the agent runs.
type callForm struct {
	typ      string
	idPrefix string // how the ids of items begin
	tool     string // the tool's name, "" where the item has its own
	field    string // that contains the input, "" for all of the item
	text     bool   // the input is text, not JSON of its own
	free     bool   // the text is free, not JSON either
	fixed    bool   // the agent cannot be given another input
	unknown  bool   // the type is unknown
	events   string // type of the events that stream its texts, without its last part
}

// callForms are the items that the agent runs.
var callForms = map[string]*callForm{
	"function_call":        {typ: "function_call", idPrefix: "fc_", field: "arguments", text: true, events: "response.function_call_arguments"},
	"custom_tool_call":     {typ: "custom_tool_call", idPrefix: "ctc_", field: "input", text: true, free: true, events: "response.custom_tool_call_input"},
	"local_shell_call":     {typ: "local_shell_call", idPrefix: "lsh_", tool: "local_shell", field: "action"},
	"shell_call":           {typ: "shell_call", idPrefix: "sh_", tool: "shell", field: "action", events: "response.shell_call_command"},
	"apply_patch_call":     {typ: "apply_patch_call", idPrefix: "apc_", tool: "apply_patch", field: "operation", events: "response.apply_patch_call_operation_diff"},
	"computer_call":        {typ: "computer_call", idPrefix: "cu_", tool: "computer", field: "action"},
	"tool_search_call":     {typ: "tool_search_call", idPrefix: "tsc_", tool: "tool_search", field: "arguments"},
	"mcp_approval_request": {typ: approvalRequest, field: "arguments", text: true, fixed: true},
}

// approvalRequest is the item by which the provider asks whether it may run a
// tool of an MCP server. It is answered to upstream; no agent ever gets one.
const approvalRequest = "mcp_approval_request"

// passive are the items that no client runs: the model's text, calls that the provider
// has run, and results.
var passive = map[string]bool{
	"message": true, "reasoning": true, "compaction": true, "item_reference": true, "additional_tools": true,
	"web_search_call": true, "file_search_call": true, "code_interpreter_call": true, "image_generation_call": true,
	"mcp_call": true, "mcp_list_tools": true, "mcp_approval_response": true, "program": true, "program_output": true,
	"multi_agent_call": true, "multi_agent_call_output": true, "agent_message": true,
	"function_call_output": true, "custom_tool_call_output": true, "local_shell_call_output": true, "shell_call_output": true,
	"apply_patch_call_output": true, "computer_call_output": true, "tool_search_output": true,
}

// spoken are those of them that contain the model's text, and no lists of tools or of
// search results, which have names of their own.
var spoken = map[string]bool{"message": true, "reasoning": true}

// takes reports whether a call of the form can have a text as its input.
func (f *callForm) takes(input string) bool {
	return !f.fixed && (f.text || (strictjson.Strict([]byte(input)) == nil && gjson.Parse(input).IsObject()))
}

// inputText is one of the texts of an input that the API streams in events.
type inputText struct{ path, text string }

// texts are those of an input.
func (f *callForm) texts(input string) (list []inputText) {
	switch f.typ {
	case "function_call", "custom_tool_call":
		list = append(list, inputText{"", input})
	case "apply_patch_call":
		if diff := gjson.Get(input, "diff"); diff.Exists() {
			list = append(list, inputText{"diff", diff.String()})
		}
	case "shell_call":
		for i, command := range gjson.Get(input, "commands").Array() {
			list = append(list, inputText{"commands." + strconv.Itoa(i), command.String()})
		}
	}
	return list
}

// opening is the item of a call as it begins: what follows in fragments is empty.
func (f *callForm) opening(done string) string {
	p := strictjson.Patch{JSON: done}
	if !f.unknown {
		p.Set("status", `"in_progress"`)
	}
	switch {
	case f.text:
		p.Set(f.field, `""`)
	case f.typ == "apply_patch_call" && gjson.Get(done, "operation.diff").Exists():
		p.Set("operation.diff", `""`)
	case f.typ == "shell_call" && gjson.Get(done, "action.commands").Exists():
		p.Set("action.commands", "[]")
	}
	if p.Err != nil {
		return done
	}
	return p.JSON
}
