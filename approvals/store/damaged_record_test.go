package store

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// A record that cannot be read, such as one that a newer version has written, neither delays the
// start nor hides other requests from the lists.
func TestUnreadableRecord(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON":           `{"id":`,
		"another type":      `{"id":7}`,
		"no time":           `{"created_at":"yesterday"}`,
		"of another record": `{"id":"01M828KGBK7FPM9QX4Q0E7N6ZZ"}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Dir: t.TempDir(), Listen: "-"}
			s, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			good, bad := ulid.Make().String(), ulid.Make().String()
			for _, id := range []string{good, bad} {
				if _, err := s.Requests.CreateRequest(t.Context(), approvals.Request{ID: id, Status: approvals.StatusPending}); err != nil {
					t.Fatal(err)
				}
			}
			unreadable, err := s.Requests.records.bucket.KV.Put(t.Context(), subjects.Token(bad), []byte(content))
			if err != nil {
				t.Fatal(err)
			}
			later := ulid.Make().String()
			if _, err := s.Requests.CreateRequest(t.Context(), approvals.Request{ID: later, Status: approvals.StatusDenied}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var seen []string
			loaded := false
			if err := s.Requests.WatchRequests(ctx, func(r approvals.Stored) { seen = append(seen, r.Request.ID) }, func() { loaded = true; cancel() }); err != nil {
				t.Error(err)
			}
			if want := []string{good, later}; !loaded || !slices.Equal(seen, want) {
				t.Errorf("the start has ended: %v, and read %v; want %v", loaded, seen, want)
			}
			if covered := s.Requests.index.Covered(); covered >= unreadable {
				t.Errorf("the index covers revision %d, and %d cannot be read by this version", covered, unreadable)
			}
			page, err := s.Requests.ListRequests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
			if err != nil || len(page.Items) != 1 || page.Items[0].ID != good {
				t.Errorf("listed are %+v, %v", page.Items, err)
			}
		})
	}
}
