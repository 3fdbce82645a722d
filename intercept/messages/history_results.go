package messages

import (
	"slices"
	"strings"

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
	counts := r.counts()
	if system, ok := r.At("system"); counts && ok {
		contents.AddMessage(system.Start, r.Value("system"))
	}
	r.Value("messages").ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "assistant" {
			contents.Answered()
		}
		content := m.Get("content")
		if isOddMessage(m.Get("role").Str, content) {
			contents.Add(m.Get("tool_use_id").Str, content)
			return true
		}
		if counts && !slices.ContainsFunc(contentBlocks(content), isOfCall) {
			contents.AddMessage(history.Start, content)
			return true
		}
		if !content.IsArray() {
			return true
		}
		content.ForEach(func(_, b gjson.Result) bool {
			switch typ := b.Get("type").Str; {
			case typ == "tool_use":
				contents.AddCall(b.Get("id").Str, b)
			case typ == "tool_result":
				contents.Add(b.Get("tool_use_id").Str, b.Get("content"))
			case typ == "text" && counts:
				contents.AddMessage(history.Start, b.Get("text"))
			}
			return true
		})
		return true
	})
	return contents.List()
}

// counts reports whether the request only counts tokens.
func (r *request) counts() bool { return strings.HasSuffix(r.Envelope().Path, counting) }

// isOfCall reports whether a block is a call, a result, or the model's thinking about one: another one must not replace
// it.
func isOfCall(b gjson.Result) bool {
	typ := b.Get("type").Str
	return strings.Contains(typ, "tool_") || strings.Contains(typ, "thinking")
}

// isOddMessage reports whether a message is a result of a call as a whole: it has a role that the API does not have,
// and no blocks with results.
func isOddMessage(role string, content gjson.Result) bool {
	odd := !slices.Contains([]string{"user", "assistant", "system"}, role)
	return odd && !slices.ContainsFunc(contentBlocks(content), func(b gjson.Result) bool { return b.Get("type").Str == "tool_result" })
}

// ResultCall implements [intercept.Dialect].
func (Dialect) ResultCall(raw string) intercept.Call {
	v := gjson.Parse(raw)
	return intercept.Call{ID: v.Get("id").Str, Name: toolOf(v, v.Get("name").Str), Arguments: v.Get("input").Raw}
}
