package gate

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// A gate that runs for years holds what is still to come only; one that was
// revoked stays until its time, for word of it from before may come later.
func TestEndedDelegationsAreForgotten(t *testing.T) {
	now := time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
	g := New(Options{Now: func() time.Time { return now }})
	revoked := approvals.Delegation{ID: "revoked", From: "ann", To: "bob", Until: now.Add(2 * time.Hour), RevokedAt: &now}
	g.delegationChanged(revoked)
	g.delegationChanged(approvals.Delegation{ID: "short", From: "ann", To: "bob", Until: now.Add(time.Hour)})
	revoked.RevokedAt = nil
	g.delegationChanged(revoked)
	if list := g.Delegations(); len(list) != 1 || list[0].ID != "short" {
		t.Errorf("in force are %+v", list)
	}
	now = now.Add(3 * time.Hour)
	g.delegationChanged(approvals.Delegation{ID: "long", From: "ann", To: "bob", Until: now.Add(time.Hour)})
	g.delegationChanged(revoked)
	if list := g.Delegations(); len(g.delegations) != 1 || len(list) != 1 || list[0].ID != "long" {
		t.Errorf("kept are %+v", g.delegations)
	}
}
