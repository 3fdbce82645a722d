package store

import (
	"errors"
	"strings"
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

func TestRecords(t *testing.T) {
	s := openForTest(t)
	runs, ctx := s.Runs, t.Context()
	const limit = 4096
	if _, err := runs.get(ctx, "none"); !errors.Is(err, approvals.ErrUnknownRun) {
		t.Errorf("a run that does not exist: %v", err)
	}
	first, err := runs.put(ctx, approvals.Run{ID: "run.1"}, 0, limit)
	if err != nil {
		t.Fatal(err)
	}
	for name, revision := range map[string]uint64{"created again": 0, "of another revision": first + 7} {
		if _, err := runs.put(ctx, approvals.Run{ID: "run.1"}, revision, limit); !errors.Is(err, approvals.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := runs.put(ctx, approvals.Run{ID: "run.1", SessionID: strings.Repeat("x", limit)}, first, limit); !errors.Is(err, approvals.ErrTooLarge) || !strings.Contains(err.Error(), "run run.1 has") {
		t.Errorf("too large: %v", err)
	}
	second, err := runs.put(ctx, approvals.Run{ID: "run.1", SessionID: "<s>"}, first, limit)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runs.get(ctx, "run.1")
	if err != nil || got.revision != second || got.value.SessionID != "<s>" || got.at.IsZero() || got.at.Location() != time.UTC {
		t.Errorf("%+v, %v; want revision %d", got, err, second)
	}
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

// A key is created once. Each name has its own.
func TestKeysAreMadeOnce(t *testing.T) {
	s := openForTest(t)
	for _, tt := range []struct {
		get func(fresh string) ([]byte, error)
	}{
		{func(fresh string) ([]byte, error) { return s.Push.PushKey(t.Context(), []byte(fresh)) }},
		{func(fresh string) ([]byte, error) { return s.Deliveries.LinkKey(t.Context(), "one", []byte(fresh)) }},
		{func(fresh string) ([]byte, error) { return s.Deliveries.LinkKey(t.Context(), "two", []byte(fresh)) }},
	} {
		fresh := t.Name() + time.Now().String()
		for _, given := range []string{fresh, "another"} {
			if key, err := tt.get(given); err != nil || string(key) != fresh {
				t.Errorf("%q, %v; want %q", key, err, fresh)
			}
		}
	}
}

func TestState(t *testing.T) {
	s, ctx := openForTest(t).Deliveries, t.Context()
	if value, revision, err := s.State(ctx, "slack", "card"); value != nil || revision != 0 || err != nil {
		t.Errorf("a key without a value: %q, %d, %v", value, revision, err)
	}
	written, err := s.PutState(ctx, "slack", "card", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutState(ctx, "slack", "card", []byte("2"), 0); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("written twice: %v", err)
	}
	if _, err := s.PutState(ctx, "other", "card", []byte("2"), 0); err != nil {
		t.Errorf("of another channel: %v", err)
	}
	if value, revision, err := s.State(ctx, "slack", "card"); string(value) != "1" || revision != written || err != nil {
		t.Errorf("%q, %d, %v", value, revision, err)
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
