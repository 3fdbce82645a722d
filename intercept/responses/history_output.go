package responses

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// isOutput reports the types of items that answer calls of the agent's.
func isOutput(typ string) bool {
	return (strings.HasSuffix(typ, "_output") && !slices.Contains(providerOutputs, typ)) || typ == approvalResponse
}

// providerOutputs are the types of items that answer calls that the provider runs.
var providerOutputs = []string{"program_output", "multi_agent_call_output"}

// withoutID is an item without the id by which the provider would look it up. An approval
// request keeps its id, which its response names.
func withoutID(raw string) string {
	p := strictjson.Patch{JSON: raw}
	if gjson.Get(raw, "type").Str == approvalRequest {
		return raw
	}
	if p.Delete("id"); p.Err != nil {
		return raw
	}
	return p.JSON
}

// developerMessage is a message to the model, for text that an output has no field for.
func developerMessage(text string) string {
	return `{"type":"message","role":"developer","content":` + strictjson.Quote(text) + "}"
}

// annotate adds a note before the text of an output. For an output that has no text, the
// note is an item of its own after it.
func annotate(output gjson.Result, note string) string {
	path := "output"
	content := output.Get(path)
	typ := output.Get("type").Str
	switch typ {
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "apply_patch_call_output":
	case "shell_call_output":
		if !content.Get("0").IsObject() {
			return output.Raw + "," + developerMessage(note)
		}
		path = "output.0.stdout"
		content = content.Get("0.stdout")
	default:
		return output.Raw + "," + developerMessage(note)
	}
	text := strictjson.Annotated(content, note)
	if content.IsArray() && (typ == "function_call_output" || typ == "custom_tool_call_output") {
		text = strings.Replace(text, `"type":"text"`, `"type":"input_text"`, 1)
	}
	p := strictjson.Patch{JSON: output.Raw}
	if p.Set(path, text); p.Err != nil {
		return output.Raw
	}
	return p.JSON
}
