package heldturns_test

import (
	"context"
	"errors"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

// A turn that ends before people are asked was never held: neither its process nor another
// one counts it when an agent repeats the request.
func TestATurnThatWasNotHeldIsWithdrawn(t *testing.T) {
	s := approvalstest.OpenStore(t, t.TempDir())
	k, g, stop := run(t, s, heldturns.Options{})
	turn, _ := held(g, "t1")
	a, err := k.Keep(t.Context(), turn, []byte("snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	if c := only(t, k); !c.Unsure || c.State != approvals.AgentAttached {
		t.Fatalf("while it is recorded: %+v", c)
	}
	if err := a.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := k.Candidates("f1"); len(all) != 0 || k.Any() {
		t.Fatalf("after its end: %+v", all)
	}
	b, _ := keep(t, k, g, "t2")
	if c := only(t, k); c.Unsure {
		t.Fatalf("when people are asked: %+v", c)
	}
	agent := make(chan struct{})
	if b.WatchAgent(agent); only(t, k).Unsure {
		t.Fatalf("while the agent waits: %+v", only(t, k))
	}
	close(agent)
	if c := only(t, k); !c.Unsure || !c.Unrecorded || c.State != approvals.AgentAttached {
		t.Fatalf("when the agent has left, and its turn is busy: %+v", c)
	}
	if err := b.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()

	other, _, _ := run(t, s, heldturns.Options{})
	if c := only(t, other); c.ID != "t2" || !c.Ended {
		t.Fatalf("another process: %+v", c)
	}
}

// A turn that could not be stored for sure is withdrawn as soon as the store works.
func TestATurnThatFailedToBeStoredIsWithdrawn(t *testing.T) {
	s := approvalstest.OpenStore(t, t.TempDir())
	k, g, _ := run(t, s, heldturns.Options{Store: unanswered{s.Held}})
	turn, _ := held(g, "t1")
	if _, err := k.Keep(t.Context(), turn, []byte("snapshot")); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the turn is withdrawn", func() bool { return len(k.Candidates("f1")) == 0 && !k.Any() })
}

// unanswered is a store that stores turns without an answer.
type unanswered struct{ heldturns.Store }

func (u unanswered) Put(ctx context.Context, k heldturns.Key, snapshot []byte) (heldturns.Key, error) {
	key, err := u.Store.Put(ctx, k, snapshot)
	return key, errors.Join(err, approvals.ErrStoreUnavailable)
}
