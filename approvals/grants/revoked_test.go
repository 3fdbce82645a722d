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

// slowGrants is a store that calls a function between the write of a grant and the return
// of the write.
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

// slowBook returns a Grants with grants that another replica revokes as soon as they are
// written: when they are created, or when uses are added. inForce is the number of grants
// that were kept and not dropped.
func slowBook(t *testing.T, whenCreated bool) (slow, other *grants.Grants, inForce, revoked *atomic.Int32) {
	t.Helper()
	s := approvalstest.OpenStore()
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

// A grant that another replica revokes while it is written is not in force.
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

// A grant that is revoked while its uses are written is not in force.
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
