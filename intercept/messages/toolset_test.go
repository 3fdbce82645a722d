package messages

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/intercept"
)

// TestToolsetInTheName: rules see the toolset of a call with its tool, where the agent runs the tool of the toolset.
func TestToolsetInTheName(t *testing.T) {
	for _, tt := range []struct {
		tools, fields, want string
		offered             bool
	}{
		{`{"type":"computer_toolset_20260101","name":"computer"}`, `,"toolset_name":"computer"`, "computer.left_click", true},
		{`{"type":"browser_toolset_20260801"}`, `,"toolset_name":"browser"`, "browser.left_click", true},
		{`{"type":"computer_toolset_20260101","name":"computer"}`, ``, "left_click", false},
		{`{"type":"computer_toolset_20260101","name":"computer"}`, `,"toolset_name":null`, "left_click", false},
		{`{"type":"computer_toolset_20260101","name":"computer"}`, `,"toolset_name":"browser"`, "left_click", false},
		{`{"name":"left_click"}`, `,"toolset_name":"computer"`, "left_click", true},
	} {
		r := asking(t, `{"messages":[],"tools":[`+tt.tools+`]}`)
		a := intercept.NewAnswer(r, intercept.Limits{MaxBytes: 1 << 20})
		a.Begin()
		body := `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"left_click","input":{}` + tt.fields + `}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
		if _, err := a.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.End(true); err != nil {
			t.Fatal(err)
		}
		calls := a.Calls()
		names := r.ToolNames()
		if len(calls) != 1 || calls[0].Name != tt.want || names.Has(tt.want) != tt.offered {
			t.Errorf("%s with %s: %+v, offered %+v", tt.fields, tt.tools, calls, names)
		}
	}
}

func TestToolNames(t *testing.T) {
	for fields, want := range map[string]intercept.ToolNames{
		`"tools":[{"name":"a"},{"type":"custom","name":"b"},{"type":"bash_20250124","name":"bash"},{"type":"web_search_20250305","name":"web_search"}]`: {All: []string{"a", "b", "bash"}},
		`"tools":[{"type":"computer_toolset_20260101"},{"type":"mcp_toolset","mcp_server_name":"x"}]`:                                                   {Toolsets: []string{"computer"}},
		`"thread":{"type":"create"},"tools":[{"name":"a"}]`:                                                                                             {All: []string{"a"}},
		`"thread":{"type":"continue","previous_message_id":"msg_1"}`:                                                                                    {More: true},
		`"tools":null`: {}, `"n":1`: {},
	} {
		if d := cmp.Diff(want, asking(t, `{"messages":[],`+fields+`}`).ToolNames()); d != "" {
			t.Errorf("%s (-want +got):\n%s", fields, d)
		}
	}
}
