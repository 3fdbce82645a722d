package history

import (
	"github.com/heldcall/heldcall/intercept"
)

// Results implements [intercept.Request].
func (r *Request) Results() (results []intercept.ToolResult) {
	for m := range r.items("messages") {
		switch m.Get("role").Str {
		case "assistant":
			results = nil
		case "tool":
			results = append(results, intercept.NewToolResult(m.Get("tool_call_id").Str, m.Get("content")))
		}
	}
	return results
}
