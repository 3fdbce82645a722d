package history

import (
	"strings"

	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// WithoutID is an item without the id by which the provider would look it up. That
// of a question is the one that its answer names.
func WithoutID(raw string) string {
	p := strictjson.Patch{JSON: raw}
	if gjson.Get(raw, "type").Str == wire.ApprovalRequest {
		return raw
	}
	if p.Delete("id"); p.Err != nil {
		return raw
	}
	return p.JSON
}

// Developer is a message that tells the model what an output has no place for.
func Developer(text string) string {
	return `{"type":"message","role":"developer","content":` + strictjson.Quote(text) + "}"
}

// annotate puts a note before the text of an output. Where it has no place for
// text the note is an item of its own behind it.
func annotate(output gjson.Result, note string) string {
	path := "output"
	content := output.Get(path)
	switch output.Get("type").Str {
	case "function_call_output", "custom_tool_call_output":
		if content.IsArray() {
			content = gjson.Parse(strings.Replace(strictjson.Annotated(content, note), `"type":"text"`, `"type":"input_text"`, 1))
			break
		}
		content = gjson.Parse(strictjson.Annotated(content, note))
	case "local_shell_call_output", "apply_patch_call_output":
		content = gjson.Parse(strictjson.Annotated(content, note))
	case "shell_call_output":
		if first := content.Get("0"); first.IsObject() {
			path = "output.0.stdout"
			content = gjson.Parse(strictjson.Annotated(first.Get("stdout"), note))
			break
		}
		return output.Raw + "," + Developer(note)
	default:
		return output.Raw + "," + Developer(note)
	}
	p := strictjson.Patch{JSON: output.Raw}
	if p.Set(path, content.Raw); p.Err != nil {
		return output.Raw
	}
	return p.JSON
}
