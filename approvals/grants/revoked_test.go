package grants_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/grants"
)

// slowGrants is a store that lets something happen between the write of a grant and
// what its writer makes of that.
type slowGrants struct {
	approvalstest.Store
	then func(g approvals.Grant, revision uint64)
}

func (s *slowGrants) PutGrant(ctx context.Context, g approvals.Grant, revision uint64) (uint64, error) {
	written, err := s.Store.PutGrant(ctx, g, revision)
	if err == nil {
		s.then(g, revision)
	}
	return written, err
}

// slowBook is a book of which each grant is revoked by another as soon as it is
// written: when it is created, or when uses are added to it. inForce is how many it
// was told to keep and not to drop.
func slowBook(t *testing.T, whenCreated bool) (slow, other *grants.Grants, inForce, revoked *atomic.Int32) {
	t.Helper()
	s := approvalstest.OpenStore(t, t.TempDir())
	inForce, revoked = &atomic.Int32{}, &atomic.Int32{}
	other, _ = approvalstest.RunGrants(t, grants.Options{Store: s})
	known := func(b *grants.Grants, id string) bool { _, err := b.Grant(id); return err == nil }
	slow, _ = approvalstest.RunGrants(t, grants.Options{
		Store: &slowGrants{s, func(g approvals.Grant, revision uint64) {
			if whenCreated != (revision == 0) {
				return
			}
			approvalstest.Eventually(t, "both know it", func() bool { return known(slow, g.ID) && known(other, g.ID) })
			if _, err := other.Revoke(context.Background(), g.ID, "rita", "test"); err != nil {
				t.Error(err)
			}
			approvalstest.Eventually(t, "it is dropped", func() bool { return !known(slow, g.ID) })
			revoked.Add(1)
		}},
		Kept: func(approvals.Grant) { inForce.Add(1) }, Dropped: func(string) { inForce.Add(-1) },
	})
	return slow, other, inForce, revoked
}

// A grant that is revoked elsewhere while it is being written does not come back.
func TestRevokedWhileItIsCreated(t *testing.T) {
	slow, _, inForce, revoked := slowBook(t, true)
	g, err := slow.Add(t.Context(), approvalstest.Grant("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Grant(g.ID); err == nil || inForce.Load() != 0 || revoked.Load() != 1 {
		t.Errorf("a revoked grant is in force (%d)", inForce.Load())
	}
}

// Nor does one that is revoked while uses are being added to it.
func TestRevokedWhileItsUsesAreWritten(t *testing.T) {
	slow, other, inForce, revoked := slowBook(t, false)
	g, err := other.Add(t.Context(), approvalstest.Grant("x"))
	if err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "it is known", func() bool { _, err := slow.Grant(g.ID); return err == nil })
	slow.Used(g.ID)
	approvalstest.Eventually(t, "it is revoked", func() bool { return revoked.Load() == 1 })
	time.Sleep(100 * time.Millisecond) // for what must not happen
	if _, err := slow.Grant(g.ID); err == nil || inForce.Load() != 0 {
		t.Errorf("a revoked grant is in force (%d)", inForce.Load())
	}
}
