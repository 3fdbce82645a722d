package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Searches wait for each other. Lists do not wait for searches.
func TestConcurrentSearches(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var ended []func()
	for range maxSearches {
		done, err := awaitPlace(t.Context(), s.Requests.searching)
		if err != nil {
			t.Fatal(err)
		}
		ended = append(ended, done)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Requests.ListRequests(ctx, approvals.Filter{Text: "rm"}); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("a search above the limit: %v", err)
	}
	if _, err := s.Requests.ListRequests(t.Context(), approvals.Filter{}); err != nil {
		t.Errorf("a list during searches: %v", err)
	}
	ended[0]()
	if _, err := s.Requests.ListRequests(t.Context(), approvals.Filter{Text: "rm"}); err != nil {
		t.Errorf("a search after the end of another: %v", err)
	}
	if got := len(s.Requests.searching); got != maxSearches-1 {
		t.Errorf("%d searches are in progress", got)
	}
	for _, end := range ended[1:] {
		end()
	}
}

func TestAppendFound(t *testing.T) {
	request := func(tool string) approvals.Request { return approvals.Request{ToolName: tool, Resource: "four"} }
	read := []approvals.Request{request("rm"), request("ls"), request("rm")}
	for name, c := range map[string]struct {
		text        string
		limit       int
		items, size int
		rest        bool
	}{
		"all":                           {"", 5, 3, 12, false},
		"a page that is just full":      {"", 3, 3, 12, false},
		"a page that is full before":    {"", 2, 2, 8, true},
		"those with a word":             {"rm", 5, 2, 8, false},
		"full, others not looked at":    {"rm", 1, 1, 4, true},
		"full with the last of them":    {"rm", 2, 2, 8, false},
		"none of them contain the word": {"mv", 1, 0, 0, false},
	} {
		var page approvals.Page
		size, rest := appendFound(&page, read, approvals.NewSearch(c.text), c.limit)
		if len(page.Items) != c.items || size != c.size || rest != c.rest {
			t.Errorf("%s: %d items of %d bytes, others %t", name, len(page.Items), size, rest)
		}
	}
}
