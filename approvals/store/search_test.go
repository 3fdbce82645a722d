package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Searches wait for each other, while lists do not.
func TestFewSearchAtTheSameTime(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var ended []func()
	for range maxSearches {
		done, err := s.Requests.awaitSearch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ended = append(ended, done)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Requests.ListRequests(ctx, approvals.Filter{Text: "rm"}); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("one more searches: %v", err)
	}
	if _, err := s.Requests.ListRequests(t.Context(), approvals.Filter{}); err != nil {
		t.Errorf("who lists waits for those who search: %v", err)
	}
	ended[0]()
	if _, err := s.Requests.ListRequests(t.Context(), approvals.Filter{Text: "rm"}); err != nil {
		t.Errorf("nobody searches any more: %v", err)
	}
	if got := len(s.Requests.searching); got != maxSearches-1 {
		t.Errorf("a search that is over keeps its turn: %d", got)
	}
	for _, end := range ended[1:] {
		end()
	}
}
