package fakemodel

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// itemType describes a type of output item.
type itemType struct {
	prefix string // of its ids
	called bool   // it has a call_id, by which its output answers it
	// output is the type of the item that answers it, "" where none does.
	output string
	// asked names the tool in a [Call], as heldcall names it to people.
	asked func(item gjson.Result) (tool, arguments string)
	// stages are the events response.TYPE.STAGE of what the provider runs.
	stages []string
}

// itemTypes are the types of output items that the model knows.
func itemTypes() map[string]itemType {
	action := func(tool, field string) func(gjson.Result) (string, string) {
		return func(item gjson.Result) (string, string) { return tool, item.Get(field).Raw }
	}
	named := func(field string) func(gjson.Result) (string, string) {
		return func(item gjson.Result) (string, string) { return item.Get("name").String(), item.Get(field).String() }
	}
	return map[string]itemType{
		"message":          {prefix: "msg_"},
		"reasoning":        {prefix: "rs_"},
		"function_call":    {prefix: "fc_", called: true, output: "function_call_output", asked: named("arguments")},
		"custom_tool_call": {prefix: "ctc_", called: true, output: "custom_tool_call_output", asked: named("input")},
		"local_shell_call": {prefix: "lsh_", called: true, output: "local_shell_call_output", asked: action("local_shell", "action")},
		"shell_call":       {prefix: "sh_", called: true, output: "shell_call_output", asked: action("shell", "action")},
		"apply_patch_call": {prefix: "apc_", called: true, output: "apply_patch_call_output", asked: action("apply_patch", "operation")},
		"computer_call":    {prefix: "cu_", called: true, output: "computer_call_output", asked: action("computer", "action")},
		"tool_search_call": {prefix: "tsc_", called: true, output: "tool_search_output", asked: action("tool_search", "arguments")},
		"mcp_approval_request": {prefix: "mcpr_", output: "mcp_approval_response", asked: func(item gjson.Result) (string, string) {
			return "mcp__" + item.Get("server_label").String() + "__" + item.Get("name").String(), item.Get("arguments").String()
		}},
		"mcp_list_tools":          {prefix: "mcpl_", stages: []string{"in_progress", "completed"}},
		"mcp_call":                {prefix: "mcp_", stages: []string{"in_progress", "completed"}},
		"web_search_call":         {prefix: "ws_", stages: []string{"in_progress", "searching", "completed"}},
		"file_search_call":        {prefix: "fs_", stages: []string{"in_progress", "searching", "completed"}},
		"code_interpreter_call":   {prefix: "ci_", stages: []string{"in_progress", "interpreting", "completed"}},
		"image_generation_call":   {prefix: "ig_", stages: []string{"in_progress", "generating", "completed"}},
		"tool_search_output":      {prefix: "tso_"},
		"shell_call_output":       {prefix: "sho_"},
		"compaction":              {prefix: "cmp_"},
		"program":                 {prefix: "prg_", called: true},
		"program_output":          {prefix: "pro_", called: true},
		"multi_agent_call":        {prefix: "mac_", called: true},
		"multi_agent_call_output": {prefix: "mao_", called: true},
		"agent_message":           {prefix: "agm_"},
		"item_reference":          {},
		"additional_tools":        {}, // an offer of tools, as Codex makes it
		"configuration_update":    {}, // of the reasoning, as Codex makes it
		"compaction_trigger":      {},
	}
}

// hosted reports whether the provider itself runs the item, so that no output is expected.
func hosted(item gjson.Result) bool {
	switch item.Get("type").String() {
	case "tool_search_call":
		return item.Get("execution").String() != "client"
	case "shell_call":
		kind := item.Get("environment.type").String()
		return kind != "" && kind != "local"
	}
	return false
}

// Item appends one output item, given as it is when it is done, with the events
// by which an item of its type is streamed.
func (s *ResponsesStream) Item(item string) *ResponsesStream {
	item = s.complete(item)
	index := len(s.output)
	s.Event("response.output_item.added", map[string]any{"output_index": index, "item": json.RawMessage(sealed(begun(item), "added"))})
	at := itemEvents{s, map[string]any{"item_id": gjson.Get(item, "id").String(), "output_index": index}}
	at.stream(gjson.Parse(item))
	s.Event("response.output_item.done", map[string]any{"output_index": index, "item": json.RawMessage(sealed(item, "done"))})
	s.output = append(s.output, json.RawMessage(sealed(item, "output")))
	return s
}

// complete gives an item the ids that it lacks.
func (s *ResponsesStream) complete(item string) string {
	item = compact(item)
	kind := itemTypes()[gjson.Get(item, "type").String()]
	made := digest(or(s.ID, defaultResponseID), fmt.Sprint(len(s.output)))
	if !gjson.Get(item, "id").Exists() {
		item = fmt.Sprintf(`{"id":%s,%s`, quote(or(kind.prefix, "item_")+made[:50]), item[1:])
	}
	if kind.called && gjson.Get(item, "call_id").String() == "" {
		item = set(item, "call_id", quote("call_"+made[:24]))
	}
	return item
}

// begun is an item as it is when it is added, without content.
func begun(item string) string {
	if gjson.Get(item, "status").Exists() {
		item = set(item, "status", `"in_progress"`)
	}
	switch gjson.Get(item, "type").String() {
	case "message":
		item = set(item, "content", "[]")
	case "reasoning":
		item = set(item, "summary", "[]")
	case "function_call", "mcp_call":
		item = set(item, "arguments", `""`)
	case "custom_tool_call":
		item = set(item, "input", `""`)
	case "local_shell_call":
		item = set(item, "action.command", "[]")
	case "shell_call":
		item = set(item, "action.commands", "[]")
	case "apply_patch_call":
		if gjson.Get(item, "operation.diff").Exists() {
			item = set(item, "operation.diff", `""`)
		}
	case "tool_search_call":
		item = set(item, "arguments", "{}")
	case "computer_call":
		item = set(item, "action", "null")
	case "mcp_list_tools":
		item = set(item, "tools", "[]")
	}
	return item
}

// itemEvents appends the events between the two ends of an item.
type itemEvents struct {
	s  *ResponsesStream
	of map[string]any // the fields that each of them has
}

func (e itemEvents) stream(item gjson.Result) {
	kind := item.Get("type").String()
	switch kind {
	case "message":
		for i, part := range item.Get("content").Array() {
			e.part(i, part)
		}
	case "reasoning":
		for i, part := range item.Get("summary").Array() {
			e.summary(i, part)
		}
	case "function_call":
		e.text("response.function_call_arguments", "arguments", item.Get("arguments").String(), nil)
	case "custom_tool_call":
		e.text("response.custom_tool_call_input", "input", item.Get("input").String(), nil)
	case "apply_patch_call":
		if diff := item.Get("operation.diff"); diff.Exists() {
			e.text("response.apply_patch_call_operation_diff", "diff", diff.String(), nil)
		}
	case "shell_call":
		delete(e.of, "item_id") // as OpenAI does
		for i, command := range item.Get("action.commands").Array() {
			e.event("response.shell_call_command.added", map[string]any{"command_index": i, "command": ""})
			e.text("response.shell_call_command", "command", command.String(), map[string]any{"command_index": i})
		}
	default:
		for i, stage := range itemTypes()[kind].stages {
			e.event("response."+kind+"."+stage, nil)
			if kind == "mcp_call" && i == 0 {
				e.text("response.mcp_call_arguments", "arguments", item.Get("arguments").String(), nil)
			}
		}
	}
}

// part streams one part of a message: text or a refusal.
func (e itemEvents) part(i int, part gjson.Result) {
	at := map[string]any{"content_index": i}
	field, event := "text", "response.output_text"
	if part.Get("type").String() == "refusal" {
		field, event = "refusal", "response.refusal"
	} else {
		at["logprobs"] = []int{}
	}
	place := map[string]any{"content_index": i}
	e.event("response.content_part.added", with(place, "part", json.RawMessage(set(part.Raw, field, `""`))))
	e.text(event, field, part.Get(field).String(), at)
	e.event("response.content_part.done", with(place, "part", json.RawMessage(part.Raw)))
}

func (e itemEvents) summary(i int, part gjson.Result) {
	place := map[string]any{"summary_index": i}
	e.event("response.reasoning_summary_part.added", with(place, "part", json.RawMessage(set(part.Raw, "text", `""`))))
	e.text("response.reasoning_summary_text", "text", part.Get("text").String(), place)
	e.event("response.reasoning_summary_part.done", with(place, "part", json.RawMessage(part.Raw)))
}

// text streams a text as deltas and then once more whole, under the name of
// field.
func (e itemEvents) text(event, field, text string, at map[string]any) {
	for _, fragment := range fragments(text, or(e.s.Fragment, 4)) {
		delta := with(at, "delta", fragment)
		if include := gjson.GetBytes(e.s.Request, "stream_options.include_obfuscation"); include.Type != gjson.False {
			delta["obfuscation"] = obfuscation(fragment, len(e.s.events))
		}
		e.event(event+".delta", delta)
	}
	e.event(event+".done", with(at, field, text))
}

func (e itemEvents) event(kind string, fields map[string]any) {
	all := with(e.of, "", nil)
	for name, value := range fields {
		all[name] = value
	}
	delete(all, "")
	e.s.Event(kind, all)
}

// with is fields and one more.
func with(fields map[string]any, name string, value any) map[string]any {
	all := map[string]any{name: value}
	for name, value := range fields {
		all[name] = value
	}
	return all
}

// obfuscation pads a delta so that its length reveals little, as OpenAI does.
func obfuscation(delta string, number int) string {
	return digest(delta, fmt.Sprint(number))[:16-len([]rune(delta))%16]
}

// set is JSON with one field set, in its place.
func set(object, path, value string) string {
	changed, err := sjson.SetRaw(object, path, value)
	if err != nil {
		panic(fmt.Sprintf("internal error: setting %s of %s: %v", path, object, err))
	}
	return changed
}

// seal is the encrypted content of a reasoning item. OpenAI writes another one
// in each place of the item, and accepts each of them.
func seal(id, place string) string { return "gAAAAAB" + digest("encrypted", id, place) + "==" }

// sealed is an item with the encrypted content of a place, if it has any.
func sealed(item, place string) string {
	if content := gjson.Get(item, "encrypted_content"); content.Type != gjson.String {
		return item
	}
	return set(item, "encrypted_content", quote(seal(gjson.Get(item, "id").String(), place)))
}

// unsealed reports whether the encrypted content of an item is as it was made.
func unsealed(item gjson.Result) bool {
	id, content := item.Get("id").String(), item.Get("encrypted_content").String()
	return slices.ContainsFunc([]string{"added", "done", "output"}, func(place string) bool { return content == seal(id, place) })
}
