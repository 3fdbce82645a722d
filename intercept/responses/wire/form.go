package wire

import (
	"strconv"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Form describes a type of items that the agent runs.
type Form struct {
	Type     string
	IDPrefix string // how the ids of items begin
	Tool     string // the tool's name, "" where the item has its own
	Field    string // that contains the input, "" for all of the item
	Text     bool   // the input is text, not JSON of its own
	Free     bool   // the text is free, not JSON either
	Fixed    bool   // the agent cannot be given another input
	Unknown  bool   // the type is unknown
	Events   string // type of the events that stream its texts, without its last part
}

// Forms are the items that the agent runs.
var Forms = map[string]*Form{
	"function_call":        {Type: "function_call", IDPrefix: "fc_", Field: "arguments", Text: true, Events: "response.function_call_arguments"},
	"custom_tool_call":     {Type: "custom_tool_call", IDPrefix: "ctc_", Field: "input", Text: true, Free: true, Events: "response.custom_tool_call_input"},
	"local_shell_call":     {Type: "local_shell_call", IDPrefix: "lsh_", Tool: "local_shell", Field: "action"},
	"shell_call":           {Type: "shell_call", IDPrefix: "sh_", Tool: "shell", Field: "action", Events: "response.shell_call_command"},
	"apply_patch_call":     {Type: "apply_patch_call", IDPrefix: "apc_", Tool: "apply_patch", Field: "operation", Events: "response.apply_patch_call_operation_diff"},
	"computer_call":        {Type: "computer_call", IDPrefix: "cu_", Tool: "computer", Field: "action"},
	"tool_search_call":     {Type: "tool_search_call", IDPrefix: "tsc_", Tool: "tool_search", Field: "arguments"},
	"mcp_approval_request": {Type: ApprovalRequest, Field: "arguments", Text: true, Fixed: true},
}

// ApprovalRequest is the item by which the provider asks whether it may run a
// tool of an MCP server. It is answered to upstream; no agent ever gets one.
const ApprovalRequest = "mcp_approval_request"

// passive are the items that no client runs: the model's text, calls that the provider
// has run, and results.
var passive = map[string]bool{
	"message": true, "reasoning": true, "compaction": true, "item_reference": true, "additional_tools": true,
	"web_search_call": true, "file_search_call": true, "code_interpreter_call": true, "image_generation_call": true,
	"mcp_call": true, "mcp_list_tools": true, "mcp_approval_response": true, "program": true, "program_output": true,
	"function_call_output": true, "custom_tool_call_output": true, "local_shell_call_output": true, "shell_call_output": true,
	"apply_patch_call_output": true, "computer_call_output": true, "tool_search_output": true,
}

// spoken are those of them that contain the model's text, and no lists of tools or of
// search results, which have names of their own.
var spoken = map[string]bool{"message": true, "reasoning": true}

// Takes reports whether a call of the form can have a text as its input.
func (f *Form) Takes(input string) bool {
	return !f.Fixed && (f.Text || (strictjson.Strict([]byte(input)) == nil && gjson.Parse(input).IsObject()))
}

// inputText is one of the texts of an input that the API streams in events.
type inputText struct{ Path, Text string }

// Texts are those of an input.
func (f *Form) Texts(input string) (list []inputText) {
	switch f.Type {
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

// Opening is the item of a call as it begins: what follows in fragments is empty.
func (f *Form) Opening(done string) string {
	p := strictjson.Patch{JSON: done}
	if !f.Unknown {
		p.Set("status", `"in_progress"`)
	}
	switch {
	case f.Text:
		p.Set(f.Field, `""`)
	case f.Type == "apply_patch_call" && gjson.Get(done, "operation.diff").Exists():
		p.Set("operation.diff", `""`)
	case f.Type == "shell_call" && gjson.Get(done, "action.commands").Exists():
		p.Set("action.commands", "[]")
	}
	if p.Err != nil {
		return done
	}
	return p.JSON
}
