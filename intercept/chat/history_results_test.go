package chat

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

func TestResults(t *testing.T) {
	for name, tt := range map[string]struct {
		messages string
		want     []intercept.ToolResult
	}{
		"none":                  {user, nil},
		"after the last answer": {asking + `,{"role":"tool","tool_call_id":"a","content":"done"}`, []intercept.ToolResult{{CallID: "a", Text: "done"}}},
		"before a user's words": {asking + `,{"role":"tool","tool_call_id":"a","content":"done"},` + next, []intercept.ToolResult{{CallID: "a", Text: "done"}}},
		"of an earlier answer":  {asking + `,{"role":"tool","tool_call_id":"a","content":"done"},{"role":"assistant","content":"Well."},` + next, nil},
		"several":               {`{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"}`, []intercept.ToolResult{{CallID: "a", Text: "1"}, {CallID: "b", Text: "2"}}},
		"parts": {
			`{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"file","file":{}},{"type":"input_audio"},{"type":"other"},{"x":1},"y",null]}`,
			[]intercept.ToolResult{{CallID: "a", Text: "see\n[image]\n[file]\n[audio]\n[other]\n{\"x\":1}\ny\n"}},
		},
		"a text that is no string":     {`{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":{"a":1}}]}`, []intercept.ToolResult{{CallID: "a", Text: "[text]"}}},
		"content of another type":      {`{"role":"tool","tool_call_id":"a","content":{"type":"image"}},{"role":"tool","tool_call_id":"b","content":12},{"role":"tool","tool_call_id":"c"}`, []intercept.ToolResult{{CallID: "a", Text: "[image]"}, {CallID: "b", Text: "12"}, {CallID: "c"}}},
		"an id of another type":        {`{"role":"tool","tool_call_id":7,"content":"x"}`, []intercept.ToolResult{{Text: "x"}}},
		"the old form, without an id":  {`{"role":"function","name":"f","content":"x"}`, nil},
		"messages that are no objects": {`1,"x",[{"role":"tool","tool_call_id":"a"}],null`, nil},
	} {
		if got := parse(t, `{"messages":[`+tt.messages+`]}`).Results(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if ids := parse(t, `{"messages":[`+asking+`,{"role":"function","name":"f","content":"x"}]}`).ResultIDs(); !slices.Equal(ids, []string{intercept.UnnamedCallID("f")}) {
		t.Errorf("the old form, without an id: %q", ids)
	}
	const limit = 64 << 10
	for _, content := range []string{`"` + strings.Repeat("é", limit) + `"`, `[` + strings.Repeat(`{"type":"text","text":"éé"},`, limit) + `""]`} {
		got := parse(t, `{"messages":[{"role":"tool","tool_call_id":"a","content":`+content+`}]}`).Results()
		if len(got) != 1 || !got[0].Truncated || len(got[0].Text) > limit || len(got[0].Text) < limit-4 {
			t.Errorf("a long result has %d bytes", len(got[0].Text))
		}
	}
}
