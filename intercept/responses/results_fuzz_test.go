package responses

import (
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// FuzzResults: the results in a history are bounded, and none is older than the last answer.
func FuzzResults(f *testing.F) {
	for _, items := range []string{
		`{"role":"user","content":"hi"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"done"}`,
		`{"type":"shell_call_output","call_id":"a","output":[{"stdout":"x","stderr":"y","outcome":{"type":"exit","exit_code":1}},{"outcome":{"type":"timeout"}},7]}`,
		`{"type":"computer_call_output","call_id":"a","output":{"type":"computer_screenshot","image_url":"data:"}},{"type":"apply_patch_call_output","call_id":"b","status":"failed"}`,
		`{"type":"mcp_approval_response","approval_request_id":"a","approve":true},{"type":"local_shell_call_output","id":"c","output":[{"type":"input_image"}]}`,
	} {
		f.Add(items)
	}
	f.Fuzz(func(t *testing.T, items string) {
		intercepttest.CheckResults(t, Dialect{}, "/responses", "input", items, `{"type":"message","role":"assistant","content":"Well."}`)
	})
}
