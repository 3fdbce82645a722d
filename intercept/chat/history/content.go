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
		of := partsOf(m)
		switch of.role.Str {
		case "assistant":
			found.Answered()
			of.calls.ForEach(func(_, c gjson.Result) bool {
				found.AddCall(c.Get("id").Str, c)
				return true
			})
			if legacy := of.legacy; legacy.IsObject() {
				found.AddCall(legacyID(legacy), legacy)
			}
		case "tool":
			found.Add(of.id.Str, of.content)
		case "function":
			found.Add(legacyID(m), of.content)
		}
	}
	return found.List()
}

// parts are the members of a message that are about calls.
type parts struct{ role, calls, legacy, id, content gjson.Result }

// partsOf reads a message once.
func partsOf(m gjson.Result) (of parts) {
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
