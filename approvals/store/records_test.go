package store

import (
	"errors"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// openForTest opens a store whose embedded server has no address.
func openForTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A damaged record, or one under the key of another id, is an error.
func TestRecordsUnderAnotherKey(t *testing.T) {
	s := openForTest(t)
	for key, value := range map[string]string{"r1": `{"id":"r2"}`, "r3": `{`, "r4": ``} {
		if _, err := s.Runs.bucket.KV.Put(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Runs.Get(t.Context(), key); !errors.Is(err, approvals.ErrStoreUnavailable) {
			t.Errorf("%s with %q: %v", key, value, err)
		}
	}
}

func TestTurnIndex(t *testing.T) {
	x := newTurnIndex()
	if x.any() || x.has("s") {
		t.Error("an empty index has turns")
	}
	x.put("s")
	if !x.any() || !x.has("s") || x.has("t") {
		t.Error("the index does not have the session")
	}
	x.removeBefore(time.Now().Add(-time.Hour))
	if !x.has("s") {
		t.Error("a session was removed before its time")
	}
	x.removeBefore(time.Now().Add(time.Hour))
	if x.any() {
		t.Error("an expired session is kept")
	}
}
