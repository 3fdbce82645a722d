package messages

import (
	"reflect"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

func TestResults(t *testing.T) {
	const (
		asking = `{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},`
		done   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"done"}]}`
	)
	one := func(r intercept.ToolResult) []intercept.ToolResult { return []intercept.ToolResult{r} }
	for name, tt := range map[string]struct {
		messages string
		want     []intercept.ToolResult
	}{
		"none":                  {`{"role":"user","content":"hi"}`, nil},
		"after the last answer": {asking + done, one(intercept.ToolResult{CallID: "a", Text: "done"})},
		"of an earlier answer":  {asking + done + `,{"role":"assistant","content":"Well."},{"role":"user","content":"more"}`, nil},
		"an error": {
			asking + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"no file"},{"type":"text","text":"hm"}]}`,
			one(intercept.ToolResult{CallID: "a", Text: "no file", Failed: true}),
		},
		"nested blocks": {
			asking + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":false,"content":[{"type":"text","text":"see"},{"type":"image","source":{}},{"type":"document"},{"type":"search_result"}]}]}`,
			one(intercept.ToolResult{CallID: "a", Text: "see\n[image]\n[document]\n[search_result]"}),
		},
		"no content":          {asking + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`, one(intercept.ToolResult{CallID: "a"})},
		"of the provider":     {`{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`, nil},
		"in several messages": {asking + done + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"2"}]}`, []intercept.ToolResult{{CallID: "a", Text: "done"}, {CallID: "b", Text: "2"}}},
	} {
		r, err := parseRequest(intercept.Envelope{Body: []byte(`{"messages":[` + tt.messages + `]}`)})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Results(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
