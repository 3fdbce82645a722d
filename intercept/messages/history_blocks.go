package messages

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// contentBlocks lists the blocks of a content, none if it is a string.
func contentBlocks(content gjson.Result) []gjson.Result {
	if !content.IsArray() {
		return nil
	}
	return content.Array()
}

func callBlocks(blocks []gjson.Result) (list []gjson.Result) {
	for _, b := range blocks {
		if b.Get("type").Str == "tool_use" {
			list = append(list, b)
		}
	}
	return list
}

// blockKey identifies a block in the history that an agent sends. Calls are alike: they are
// matched by their place.
func blockKey(raw string) string {
	v := gjson.Parse(raw)
	kind := v.Get("type").Str
	switch kind {
	case "tool_use":
		return kind
	case "text", "thinking":
		return intercept.Fingerprint(kind, intercept.StripSpace(v.Get(kind).String()))
	}
	for _, field := range []string{"id", "tool_use_id", "data"} {
		if id := v.Get(field); id.Type == gjson.String {
			return intercept.Fingerprint(kind, id.Str)
		}
	}
	return intercept.Fingerprint(kind)
}

// isBlank reports whether a block is a text without content. Providers refuse such
// blocks in a request.
func isBlank(raw string) bool {
	v := gjson.Parse(raw)
	return v.Get("type").Str == "text" && strings.TrimSpace(v.Get("text").String()) == ""
}

// isThinking reports whether a block contains the model's reasoning.
func isThinking(raw string) bool {
	kind := gjson.Get(raw, "type").Str
	return kind == "thinking" || kind == "redacted_thinking"
}

// assistantMessage renders a message of the assistant without blank blocks. It adds a
// text after a last block of thinking: providers refuse a message that ends in one.
func assistantMessage(blocks []string) string {
	var content []string
	for _, raw := range blocks {
		if !isBlank(raw) {
			content = append(content, raw)
		}
	}
	if n := len(content); n > 0 && isThinking(content[n-1]) {
		content = append(content, textBlock("…"))
	}
	return `{"role":"assistant","content":[` + strings.Join(content, ",") + `]}`
}

// userMessage renders a message of the user.
func userMessage(blocks []string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

// textBlock renders a block of text.
func textBlock(text string) string { return `{"type":"text","text":` + strictjson.Quote(text) + `}` }

// modelResult renders the block with what the model reads about a call. A denial fails the call of a program:
// there a text would be the value of its function.
func (b *block) modelResult(id string) string {
	failed := ""
	if ruling, _ := b.Ruling(); b.call.program() != "" && ruling.Action == intercept.Deny {
		failed = `,"is_error":true`
	}
	return `{"type":"tool_result","tool_use_id":` + strictjson.Quote(id) + `,"content":` + strictjson.Quote(b.modelMessage()) + failed + `}`
}
