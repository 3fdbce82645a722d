package intercepttest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/heldcall/heldcall/intercept"
)

// maxResult is more than is read of one result, in bytes.
const maxResult = 65 << 10

// CheckResults checks the results that a request with a history has: they are the same
// each time and bounded, their ids are those that the strict reading finds, and there are none
// after an answer, which is an item of the history without a call. The field of the request's body has the items, separated by
// commas.
func CheckResults(t *testing.T, d intercept.Dialect, path, field, items, answer string) {
	t.Helper()
	if !json.Valid([]byte("[" + items + "]")) {
		return
	}
	read := func(items string) ([]intercept.ToolResult, []string) {
		r, err := d.Request(intercept.Envelope{Method: "POST", Path: path, Body: []byte(`{"model":"m","` + field + `":[` + items + `]}`)})
		if err != nil {
			return nil, nil
		}
		results := r.Results()
		if again := r.Results(); !reflect.DeepEqual(results, again) {
			t.Fatalf("two readings differ: %+v, %+v", results, again)
		}
		return results, r.ResultIDs()
	}
	results, ids := read(items)
	for _, r := range results {
		if r.CallID != "" && !slices.Contains(ids, r.CallID) {
			t.Fatalf("the id of %+v is not among %q", r, ids)
		}
		if len(r.Text) > maxResult || !utf8.ValidString(r.Text) || (r.Truncated && len(r.Text) < maxResult/2) {
			t.Fatalf("a result has %d bytes, truncated: %t", len(r.Text), r.Truncated)
		}
	}
	if more, ids := read(items + "," + answer); more != nil || ids != nil {
		t.Fatalf("after an answer there are results: %+v, %q", more, ids)
	}
}
