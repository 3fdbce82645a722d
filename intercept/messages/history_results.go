package messages

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/tidwall/gjson"
)

// Results implements [intercept.Request].
func (r *request) Results() (results []intercept.ToolResult) {
	var unanswered []gjson.Result // contents of messages
	r.Value("messages").ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "assistant" {
			unanswered = unanswered[:0]
		} else {
			unanswered = append(unanswered, m.Get("content"))
		}
		return true
	})
	for _, content := range unanswered {
		for _, b := range contentBlocks(content) {
			if b.Get("type").Str != "tool_result" {
				continue
			}
			result := intercept.NewToolResult(b.Get("tool_use_id").Str, b.Get("content"))
			result.Failed = b.Get("is_error").Bool()
			results = append(results, result)
		}
	}
	return results
}

// ResultContents implements [intercept.Request].
func (r *request) ResultContents() []toolresult.Content {
	history, _ := r.At("messages")
	contents := toolresult.Collector{Offset: history.Start}
	r.Value("messages").ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "assistant" {
			contents.Answered()
		}
		content := m.Get("content")
		if !content.IsArray() {
			return true
		}
		content.ForEach(func(_, b gjson.Result) bool {
			switch b.Get("type").Str {
			case "tool_use":
				contents.AddCall(b.Get("id").Str, b)
			case "tool_result":
				contents.Add(b.Get("tool_use_id").Str, b.Get("content"))
			}
			return true
		})
		return true
	})
	return contents.List()
}

// ResultCall implements [intercept.Dialect].
func (Dialect) ResultCall(raw string) intercept.Call {
	v := gjson.Parse(raw)
	return intercept.Call{ID: v.Get("id").Str, Name: toolOf(v, v.Get("name").Str), Arguments: v.Get("input").Raw}
}
