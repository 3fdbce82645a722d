package intercepttest

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/heldcall/heldcall/intercept"
)

// maxResult is more than is read of one result, in bytes.
const maxResult = 65 << 10

// CheckResults checks the results that a request with a history has: they are the same
// each time and bounded, and there are none after an answer, which is an item of the
// history without a call. The field of the request's body has the items, separated by
// commas.
func CheckResults(t *testing.T, d intercept.Dialect, path, field, items, answer string) {
	t.Helper()
	if !json.Valid([]byte("[" + items + "]")) {
		return
	}
	read := func(items string) []intercept.ToolResult {
		r, err := d.Request(intercept.Envelope{Method: "POST", Path: path, Body: []byte(`{"model":"m","` + field + `":[` + items + `]}`)})
		if err != nil {
			return nil
		}
		results := r.Results()
		if again := r.Results(); !reflect.DeepEqual(results, again) {
			t.Fatalf("two readings differ: %+v, %+v", results, again)
		}
		return results
	}
	for _, r := range read(items) {
		if len(r.Text) > maxResult || !utf8.ValidString(r.Text) || (r.Truncated && len(r.Text) < maxResult/2) {
			t.Fatalf("a result has %d bytes, truncated: %t", len(r.Text), r.Truncated)
		}
	}
	if more := read(items + "," + answer); more != nil {
		t.Fatalf("after an answer there are results: %+v", more)
	}
}
