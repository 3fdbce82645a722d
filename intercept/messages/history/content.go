package history

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/tidwall/gjson"
)

// ResultContents implements [intercept.Request].
func (r *Request) ResultContents() []toolresult.Content {
	at, _ := r.At("messages")
	found := toolresult.Collector{Offset: at.Start}
	r.value("messages").ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "assistant" {
			found.Answered()
		}
		content := m.Get("content")
		if !content.IsArray() {
			return true
		}
		content.ForEach(func(_, b gjson.Result) bool {
			switch b.Get("type").Str {
			case "tool_use":
				found.AddCall(b.Get("id").Str, b)
			case "tool_result":
				found.Add(b.Get("tool_use_id").Str, b.Get("content"))
			}
			return true
		})
		return true
	})
	return found.List()
}

// ResultCall reads a [toolresult.Content.Call].
func ResultCall(raw string) intercept.Call {
	v := gjson.Parse(raw)
	return intercept.Call{ID: v.Get("id").Str, Name: v.Get("name").Str, Arguments: v.Get("input").Raw}
}
