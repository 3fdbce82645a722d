package heldturns_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

// A turn that ends before people are asked was never held: neither its process nor another
// one counts it when an agent repeats the request.
func TestATurnThatWasNotHeldIsWithdrawn(t *testing.T) {
	s := approvalstest.OpenStore()
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
	s := approvalstest.OpenStore()
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

// stuck is a store that withdraws nothing while it is down.
type stuck struct {
	heldturns.Store
	down *bool
}

func (s stuck) Withdraw(ctx context.Context, k heldturns.Key, keep time.Duration) error {
	if *s.down {
		return approvals.ErrStoreUnavailable
	}
	return s.Store.Withdraw(ctx, k, keep)
}

// A turn that has ended has no snapshot in the store whose write failed without an answer.
func TestNoUnansweredSnapshotIsLeft(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, stop := run(t, s, heldturns.Options{Store: unansweredLarge{s.Held}})
	a, _ := keep(t, k, g, "t1")
	if err := a.Update(t.Context(), make([]byte, 2<<20)); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatal(err)
	}
	if err := a.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	other, _, _ := run(t, s, heldturns.Options{})
	if c := only(t, other); !c.Ended || other.Any() {
		t.Errorf("after its end: %+v", c)
	}
}

// unansweredLarge is a store that stores large snapshots without an answer.
type unansweredLarge struct{ heldturns.Store }

func (u unansweredLarge) Put(ctx context.Context, k heldturns.Key, snapshot []byte) (heldturns.Key, error) {
	key, err := u.Store.Put(ctx, k, snapshot)
	if key.Large {
		err = errors.Join(err, approvals.ErrStoreUnavailable)
	}
	return key, err
}

// A turn that has ended has no older snapshot in the store, which would release its first calls again, also if
// the older one could not be removed when the turn was stored under another key.
func TestNoOlderSnapshotIsLeft(t *testing.T) {
	for name, restart := range map[string]bool{"ended by its process": false, "ended by another process": true} {
		t.Run(name, func(t *testing.T) {
			s, down := approvalstest.OpenStore(), true
			k, g, stop := run(t, s, heldturns.Options{Store: stuck{s.Held, &down}})
			a, _ := keep(t, k, g, "t1")
			if err := a.Update(t.Context(), make([]byte, 2<<20)); !errors.Is(err, approvals.ErrStoreUnavailable) {
				t.Fatal(err)
			}
			down = false
			if restart {
				stop()
				k, _, stop = run(t, s, heldturns.Options{})
				if err := k.Cancel(t.Context(), "t1", approvals.CancelAgentGone); err != nil {
					t.Fatal(err)
				}
				approvalstest.Eventually(t, "the turn has ended", func() bool { all := k.Candidates("f1"); return len(all) == 1 && all[0].Ended })
			} else if err := a.End(t.Context()); err != nil {
				t.Fatal(err)
			}
			stop()
			other, _, _ := run(t, s, heldturns.Options{})
			if c := only(t, other); !c.Ended || other.Any() {
				t.Errorf("after its end: %+v", c)
			}
		})
	}
}
