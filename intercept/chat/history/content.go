package history

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/tidwall/gjson"
)

// ResultContents implements [intercept.Request]. The results of the old form name the tool in
// place of the call.
func (r *Request) ResultContents() []toolresult.Content {
	at, _ := r.At("messages")
	found := toolresult.Collector{Offset: at.Start}
	for m := range r.items("messages") {
		switch m.Get("role").Str {
		case "assistant":
			m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
				found.AddCall(c.Get("id").Str, c)
				return true
			})
			if legacy := m.Get("function_call"); legacy.IsObject() {
				found.AddCall(legacyID(legacy), legacy)
			}
		case "tool":
			found.Add(m.Get("tool_call_id").Str, m.Get("content"))
		case "function":
			found.Add(legacyID(m), m.Get("content"))
		}
	}
	return found.List
}

// legacyID is an id for a call of the old form, and for its result.
func legacyID(v gjson.Result) string { return "function " + v.Get("name").Str }

// ResultCall reads a [toolresult.Content.Call].
func ResultCall(raw string) intercept.Call {
	v := gjson.Parse(raw)
	for _, input := range []struct{ of, field string }{{"function", "arguments"}, {"custom", "input"}} {
		if made := v.Get(input.of); made.IsObject() {
			return intercept.Call{ID: v.Get("id").Str, Name: made.Get("name").Str, Arguments: made.Get(input.field).String(), FreeText: input.of == "custom"}
		}
	}
	return intercept.Call{Name: v.Get("name").Str, Arguments: v.Get("arguments").String()}
}

// SetBody implements [intercept.Request].
func (r *Request) SetBody(body []byte) error {
	ending := r.Ending()
	next, err := r.Rewritten(body)
	if err == nil {
		r.ParsedRequest, r.before = next, ending
	}
	return err
}
