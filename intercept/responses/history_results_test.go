package responses

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

func TestResults(t *testing.T) {
	const (
		callA = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},`
		callB = `{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},`
		doneA = `{"type":"function_call_output","call_id":"a","output":"done"}`
		doneB = `{"type":"function_call_output","call_id":"b","output":"2"}`
		well  = `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Well."}]}`
	)
	a, b := intercept.ToolResult{CallID: "a", Text: "done"}, intercept.ToolResult{CallID: "b", Text: "2"}
	for name, tt := range map[string]struct {
		input string
		want  []intercept.ToolResult
	}{
		"none":                    {`"hi"`, nil},
		"alone":                   {`[` + doneA + `]`, []intercept.ToolResult{a}},
		"after calls":             {`[` + callA + callB + doneA + `,` + doneB + `]`, []intercept.ToolResult{a, b}},
		"each after its call":     {`[` + callA + doneA + `,` + callB + doneB + `]`, []intercept.ToolResult{a, b}},
		"of an earlier answer":    {`[` + callA + doneA + well + `,{"role":"user","content":"more"}]`, nil},
		"before more reasoning":   {`[` + callA + doneA + `,{"type":"reasoning","id":"rs_1","summary":[]},` + callB + doneB + `]`, []intercept.ToolResult{b}},
		"before a user's message": {`[` + callA + doneA + `,{"role":"user","content":"more"}]`, []intercept.ToolResult{a}},
		"parts": {
			`[{"type":"custom_tool_call_output","call_id":"a","output":[{"type":"input_text","text":"see"},{"type":"input_image"},{"type":"input_file"}]}]`,
			[]intercept.ToolResult{{CallID: "a", Text: "see\n[image]\n[file]"}},
		},
		"a screenshot":   {`[{"type":"computer_call_output","call_id":"a","output":{"type":"computer_screenshot","image_url":"data:"}}]`, []intercept.ToolResult{{CallID: "a", Text: "[image]"}}},
		"a local shell":  {`[{"type":"local_shell_call_output","id":"a","output":"{}","status":"incomplete"}]`, []intercept.ToolResult{{CallID: "a", Text: "{}", Failed: true}}},
		"a failed patch": {`[{"type":"apply_patch_call_output","call_id":"a","status":"failed","output":"no"}]`, []intercept.ToolResult{{CallID: "a", Text: "no", Failed: true}}},
		"a shell": {
			`[{"type":"shell_call_output","call_id":"a","output":[{"stdout":"x\n","stderr":"","outcome":{"type":"exit","exit_code":0}},{"stdout":"","stderr":"y","outcome":{"type":"exit","exit_code":0}}]}]`,
			[]intercept.ToolResult{{CallID: "a", Text: "x\ny"}},
		},
		"a shell that failed": {`[{"type":"shell_call_output","call_id":"a","output":[{"stdout":"x","stderr":"","outcome":{"type":"exit","exit_code":2}}]}]`, []intercept.ToolResult{{CallID: "a", Text: "x", Failed: true}}},
		"a shell that hung":   {`[{"type":"shell_call_output","call_id":"a","output":[{"stdout":"x","stderr":"","outcome":{"type":"timeout"}}]}]`, []intercept.ToolResult{{CallID: "a", Text: "x", Failed: true}}},
		"an approval":         {`[{"type":"mcp_approval_response","approval_request_id":"a","approve":true}]`, nil},
	} {
		r, err := parseRequest(intercept.Envelope{Method: http.MethodPost, Path: "/responses", Body: []byte(`{"model":"m","input":` + tt.input + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Results(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
