package history

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// Results implements [intercept.Request].
func (r *Request) Results() (results []intercept.ToolResult) {
	r.value("messages").ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "assistant" {
			results = nil
			return true
		}
		for _, b := range blocks(m.Get("content")) {
			if b.Get("type").Str != "tool_result" {
				continue
			}
			result := intercept.NewToolResult(b.Get("tool_use_id").Str, b.Get("content"))
			result.Failed = b.Get("is_error").Bool()
			results = append(results, result)
		}
		return true
	})
	return results
}
