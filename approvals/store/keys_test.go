package store_test

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/store"
)

// The key of a channel's links stays the same after records have ended by age: links are valid on
// replicas that start then, too.
func TestKeysOutliveRecords(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{Dir: t.TempDir(), Retention: time.Second})
	key := func(fresh string) string {
		got, err := s.Deliveries.LinkKey(t.Context(), "hook", []byte(fresh))
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	first := key("first")
	if _, err := s.Deliveries.PutState(t.Context(), "hook", "later", []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the record ends", func() bool {
		_, revision, err := s.Deliveries.State(t.Context(), "hook", "later")
		if err != nil {
			t.Fatal(err)
		}
		return revision == 0
	})
	if again := key("second"); again != first {
		t.Errorf("the key is %q, and was %q", again, first)
	}
}
