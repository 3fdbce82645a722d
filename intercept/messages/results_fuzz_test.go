package messages

import (
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// FuzzResults: the results in a history are bounded, and none is older than the last answer.
func FuzzResults(f *testing.F) {
	for _, items := range []string{
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"done"},{"type":"text","text":"hi"}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"x"},{"type":"image"},{"type":"document"}]}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":1,"is_error":"no","content":{"text":"x"}},7]},7,{"role":"user","content":"hi"}`,
	} {
		f.Add(items)
	}
	f.Fuzz(func(t *testing.T, items string) {
		intercepttest.CheckResults(t, Dialect{}, "/messages", "messages", items, `{"role":"assistant","content":"Well."}`)
	})
}
