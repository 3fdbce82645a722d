package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store"
)

// Finding 24: a list of large requests has pages of bounded size, and each request is in one
// of them.
func TestListsOfLargeRequestsAreBounded(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	const requests, size = 30, 900 << 10
	arguments := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", size))
	for range requests {
		r := approvals.Request{ID: ulid.Make().String(), Status: approvals.StatusPending, ToolName: "write", Arguments: arguments}
		if _, err := s.Requests.CreateRequest(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	f := approvals.Filter{Status: approvals.StatusPending, Limit: 500}
	for pages := 1; ; pages++ {
		page, err := s.Requests.ListRequests(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Items) * size; n > 24<<20 {
			t.Errorf("a page has %d bytes of arguments", n)
		}
		for i := range page.Items {
			if id := page.Items[i].ID; seen[id] {
				t.Errorf("request %s is listed twice", id)
			} else {
				seen[id] = true
			}
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			break
		}
		if pages > requests {
			t.Fatal("the list has no end")
		}
	}
	if len(seen) != requests {
		t.Errorf("%d requests are listed, want %d", len(seen), requests)
	}
}
