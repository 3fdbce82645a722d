package gate_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

// silent is a store whose audit log takes nothing while it is down.
type silent struct {
	approvals.Store
	down atomic.Bool
}

func (s *silent) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	if s.down.Load() {
		return errInjected
	}
	return s.Store.AppendEvents(ctx, events...)
}

func (s *silent) EnsureEvent(ctx context.Context, e approvals.Event) error {
	if s.down.Load() {
		return errInjected
	}
	return s.Store.EnsureEvent(ctx, e)
}

// The event of a signal or of a delegation that could not be written follows, once.
func TestPromise4_RecordedFirst_EventOfAChange(t *testing.T) {
	t.Parallel()
	opened := approvalstest.OpenStore()
	s := &silent{Store: opened}
	g := approvalstest.RunGate(t, gate.Options{Store: s, Profile: func(string) (approvals.ReviewerProfile, bool) { return approvals.ReviewerProfile{}, true }})
	changes := map[approvals.EventType]func() error{
		approvals.EventRunPaused: func() error {
			_, err := g.Signal(t.Context(), approvals.Signal{RunID: "run-1", Action: approvals.SignalPause, ReviewerID: "bob"})
			return err
		},
		approvals.EventRunAborted: func() error {
			_, err := g.Signals().Send(t.Context(), approvals.PrincipalSignal{Principal: approvals.Principal{User: "ann"}, Action: approvals.SignalAbort, ReviewerID: "bob"})
			return err
		},
		approvals.EventDelegationCreated: func() error {
			_, err := g.Delegate(t.Context(), approvals.Delegation{From: "ann", To: "bob", CreatedBy: "ann", Until: time.Now().Add(time.Hour)})
			return err
		},
	}
	s.down.Store(true)
	for typ, change := range changes {
		if err := change(); !errors.Is(err, approvals.ErrStoreUnavailable) {
			t.Errorf("%s: %v", typ, err)
		}
	}
	s.down.Store(false)
	for _, typ := range []approvals.EventType{approvals.EventRunPaused, approvals.EventRunAborted} {
		if err := changes[typ](); err != nil { // the reviewer tries again: it changes nothing
			t.Errorf("%s again: %v", typ, err)
		}
	}
	types := func() (found []approvals.EventType) {
		for e, err := range opened.RecentEvents(t.Context(), 100) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, e.Type)
		}
		slices.Sort(found)
		return found
	}
	want := []approvals.EventType{approvals.EventDelegationCreated, approvals.EventRunAborted, approvals.EventRunPaused}
	approvalstest.Eventually(t, "all events are in the log", func() bool { return len(types()) >= len(want) })
	if got := types(); !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
}
