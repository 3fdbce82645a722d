package store

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

// Turns that an earlier version has stored are found, and removed, under their keys.
func TestHeldKeys(t *testing.T) {
	for want, k := range map[string]heldturns.Key{
		"o.c.f.t1":            {HeldTurn: approvals.HeldTurn{ID: "t1", Conversation: "c", Fingerprint: "f"}, Owner: "o"},
		"o.c.f.t1.large":      {HeldTurn: approvals.HeldTurn{ID: "t1", Conversation: "c", Fingerprint: "f"}, Owner: "o", Large: true},
		"o.c.f.t1.task":       {HeldTurn: approvals.HeldTurn{ID: "t1", Conversation: "c", Fingerprint: "f", Task: "task"}, Owner: "o"},
		"o.c.f.t1.task.large": {HeldTurn: approvals.HeldTurn{ID: "t1", Conversation: "c", Fingerprint: "f", Task: "task"}, Owner: "o", Large: true},
	} {
		got, ok := parseHeldKey(want)
		if key := heldKey(k); key != want || !ok || got != k {
			t.Errorf("%+v is %s, and that is %+v", k, key, got)
		}
	}
	for _, key := range []string{"o.c.f", "o.c.f.t.k.x", ""} {
		if k, ok := parseHeldKey(key); ok {
			t.Errorf("%q is the key %+v", key, k)
		}
	}
}
