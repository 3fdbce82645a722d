package gate

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Delegations that have ended are removed. A revoked one is kept until its end: an older
// state of it may arrive later.
func TestEndedDelegationsAreRemoved(t *testing.T) {
	t.Parallel()
	now := time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
	g := &delegations{now: func() time.Time { return now }, byID: map[string]approvals.Delegation{}}
	revoked := approvals.Delegation{ID: "revoked", From: "ann", To: "bob", Until: now.Add(2 * time.Hour), RevokedAt: &now}
	g.apply(revoked)
	g.apply(approvals.Delegation{ID: "short", From: "ann", To: "bob", Until: now.Add(time.Hour)})
	revoked.RevokedAt = nil
	g.apply(revoked)
	if list := g.list(); len(list) != 1 || list[0].ID != "short" {
		t.Errorf("%+v are in force, want short", list)
	}
	now = now.Add(3 * time.Hour)
	g.apply(approvals.Delegation{ID: "long", From: "ann", To: "bob", Until: now.Add(time.Hour)})
	g.apply(revoked)
	if list := g.list(); len(g.byID) != 1 || len(list) != 1 || list[0].ID != "long" {
		t.Errorf("%+v are kept, want long", g.byID)
	}
}
