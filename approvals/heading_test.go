package approvals_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// TestHeading: the inbox makes the same headings, and is tested with the same file.
func TestHeading(t *testing.T) {
	text, err := os.ReadFile("testdata/headings.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Calls []struct {
			Commands  []string
			Effects   []approvals.Effect
			Arguments json.RawMessage
		}
		Heading string
		Notice  *string // the heading of notifications; nil: the same
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table) == 0 {
		t.Fatalf("%d headings: %v", len(table), err)
	}
	for _, tt := range table {
		var requests []approvals.Request
		var pointers []*approvals.Request
		for _, call := range tt.Calls {
			requests = append(requests, approvals.Request{Effects: call.Effects, Arguments: call.Arguments, Details: approvals.Details{Commands: call.Commands}})
		}
		for i := range requests {
			pointers = append(pointers, &requests[i])
		}
		notice := tt.Heading
		if tt.Notice != nil {
			notice = *tt.Notice
		}
		if got := approvals.NoticeHeading(pointers); got != notice {
			t.Errorf("notice of %+v\n got %s\nwant %s", tt.Calls, got, notice)
		}
		if got := approvals.Heading(requests); got != tt.Heading {
			t.Errorf("%+v\n got %s\nwant %s", tt.Calls, got, tt.Heading)
		}
	}
}
