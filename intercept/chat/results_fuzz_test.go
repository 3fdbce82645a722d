package chat

import (
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// FuzzResults: the results in a history are bounded, and none is older than the last answer.
func FuzzResults(f *testing.F) {
	for _, items := range []string{
		`{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"a","content":"done"}`,
		`{"role":"assistant","tool_calls":[]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"},{"type":"image_url"},1,null,{"y":[2]}]}`,
		`{"role":"tool","tool_call_id":{"a":1},"content":{"type":"computer_screenshot"}},{"role":"function","name":"f","content":"x"},7`,
	} {
		f.Add(items)
	}
	f.Fuzz(func(t *testing.T, items string) {
		intercepttest.CheckResults(t, Dialect{}, "/chat/completions", "messages", items, `{"role":"assistant","content":"Well."}`)
	})
}
