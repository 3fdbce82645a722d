package store_test

import (
	"context"
	"fmt"
	"slices"
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

// A start reads the open requests among few others in one pass, and few open ones among many others by their keys.
func TestStartReadsOpenRequestsOnly(t *testing.T) {
	for name, closedBetween := range map[string]int{"among few": 1, "among many": 20} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, store.Options{Dir: dir})
			revisions := map[string]uint64{}
			create := func() string {
				r := approvals.Request{ID: ulid.Make().String(), Status: approvals.StatusPending, ToolName: "write"}
				revision, err := s.Requests.CreateRequest(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				revisions[r.ID] = revision
				return r.ID
			}
			var opened, closed []string
			for range 3 {
				opened = append(opened, create())
				for range closedBetween {
					closed = append(closed, create())
				}
			}
			opened = append(opened, create())
			watchedUntil(t, s, opened[3])
			for _, id := range closed {
				s.Requests.CloseRequest(id, revisions[id])
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, store.Options{Dir: dir})
			if got := watchedUntil(t, s, ""); !slices.Equal(got, opened) {
				t.Errorf("reported are %q, want %q", got, opened)
			}
			if got, err := s.Requests.MissingRequests(t.Context(), append(closed, "unknown", opened[0])); err != nil || !slices.Equal(got, []string{"unknown"}) {
				t.Errorf("missing are %q, %v", got, err)
			}
		})
	}
}

// watchedUntil returns the requests that a watch reports, until it has loaded and reported an id ("": any).
func watchedUntil(t *testing.T, s *store.Store, id string) (reported []string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	loaded := false
	check := func() {
		if loaded && (id == "" || slices.Contains(reported, id)) {
			stop()
		}
	}
	err := s.Requests.WatchRequests(ctx, func(r approvals.Stored) { reported = append(reported, r.Request.ID); check() }, func() { loaded = true; check() })
	if err != nil {
		t.Fatal(err)
	}
	return reported
}
