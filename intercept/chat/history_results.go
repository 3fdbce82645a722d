package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/outline"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/tidwall/gjson"
)

// Results implements [intercept.Request].
func (r *request) Results() (results []intercept.ToolResult) {
	var unanswered []gjson.Result
	for m := range r.items("messages") {
		switch m.Get("role").Str {
		case "assistant":
			unanswered = unanswered[:0]
		case "tool":
			unanswered = append(unanswered, m)
		}
	}
	for _, m := range unanswered {
		results = append(results, intercept.NewToolResult(m.Get("tool_call_id").Str, m.Get("content")))
	}
	return results
}

// resultOf is the Result of [outline.Schema]. It reads tool_call_id, and name: the results of the old
// form name the tool in place of the call.
func resultOf(role []byte, members *[4][]byte) (id []byte, answers bool) {
	switch {
	case outline.IsString(role, "tool"):
		return members[0], false
	case outline.IsString(role, "function"):
		return []byte(strictjson.Quote(intercept.UnnamedCallID(gjson.ParseBytes(members[1]).Str))), false
	}
	return nil, outline.IsString(role, "assistant")
}

// ResultContents implements [intercept.Request]. The results of the old form name the tool in
// place of the call.
func (r *request) ResultContents() []toolresult.Content {
	history, _ := r.At("messages")
	contents := toolresult.Collector{Offset: history.Start}
	for m := range r.items("messages") {
		parts := readParts(m)
		switch parts.role.Str {
		case "assistant":
			contents.Answered()
			parts.calls.ForEach(func(_, c gjson.Result) bool {
				contents.AddCall(c.Get("id").Str, c)
				return true
			})
			if legacy := parts.legacy; legacy.IsObject() {
				contents.AddCall(legacyID(legacy), legacy)
			}
		case "tool":
			contents.Add(parts.id.Str, parts.content)
		case "function":
			contents.Add(legacyID(m), parts.content)
		case "user", "system", "developer", "model":
			if parts.id.Str != "" {
				contents.Add(parts.id.Str, parts.content)
			}
		default: // some servers know roles such as ipython, observation or tool-response
			contents.Add(parts.id.Str, parts.content)
		}
	}
	return contents.List()
}

// messageParts are the members of a message that are about calls.
type messageParts struct{ role, calls, legacy, id, content gjson.Result }

// readParts reads a message once.
func readParts(m gjson.Result) (of messageParts) {
	m.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "role":
			of.role = value
		case "tool_calls":
			of.calls = value
		case "function_call":
			of.legacy = value
		case "tool_call_id":
			of.id = value
		case "content":
			of.content = value
		}
		return true
	})
	return of
}

// legacyID is an id for a call of the old form, and for its result.
func legacyID(v gjson.Result) string { return intercept.UnnamedCallID(v.Get("name").Str) }

// ResultCall implements [intercept.Dialect].
func (Dialect) ResultCall(raw string) intercept.Call {
	v := gjson.Parse(raw)
	for _, input := range []struct{ of, field string }{{"function", "arguments"}, {"custom", "input"}} {
		if made := v.Get(input.of); made.IsObject() {
			return intercept.Call{ID: v.Get("id").Str, Name: made.Get("name").Str, Arguments: made.Get(input.field).String(), FreeText: input.of == "custom"}
		}
	}
	return intercept.Call{Name: v.Get("name").Str, Arguments: v.Get("arguments").String()}
}
