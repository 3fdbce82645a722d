package heldturns_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

func TestATurnIsKeptDetachedClaimedAndEnded(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{})
	if k.Any() {
		t.Fatal("an empty store has turns")
	}
	a, h := keep(t, k, g, "t1")
	if state, ok := k.AgentState("t1"); !ok || state.State != approvals.AgentAttached || !k.Any() {
		t.Fatalf("after Keep: %+v, %v", state, ok)
	}
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := only(t, k)
	if c.State != approvals.AgentDetached || c.Ended {
		t.Fatalf("after Detach: %+v", c)
	}
	if r, err := g.Request(t.Context(), h.Requests()[0].ID); err != nil || r.Agent == nil || r.Agent.State != approvals.AgentDetached {
		t.Fatalf("the request shows %+v, %v", r.Agent, err)
	}
	b, snapshot, err := k.Claim(t.Context(), c)
	if err != nil || !bytes.Equal(snapshot, []byte("snapshot of t1")) {
		t.Fatalf("%q, %v", snapshot, err)
	}
	if _, _, err := k.Claim(t.Context(), c); !errors.Is(err, approvals.ErrTaken) {
		t.Fatalf("a second claim of the same state: %v", err)
	}
	// A second hold of the same request gets the decision.
	again := approvalstest.Open(t, g, h.Requests()...)
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: again.Requests()[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Await(t, again.Done(), "the decision")
	if err := b.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := only(t, k); !c.Ended || k.Any() {
		t.Fatalf("after End: %+v", c)
	}
	want := []approvals.EventType{approvals.EventTurnDetached, approvals.EventTurnReattached}
	if got := turnEvents(t, s, h.Requests()[0].ID); len(got) != 2 || got[0].Type != want[0] || got[1].Type != want[1] {
		t.Fatalf("events %v", approvalstest.EventTypes(got))
	}
}

// An agent leaves before the gate has read its request from the store.
func TestAgentLeavesAtOnce(t *testing.T) {
	s := approvalstest.OpenStore()
	k := heldturns.New(heldturns.Options{Store: s.Held})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx, lateGate{}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	approvalstest.Await(t, k.Ready(), "the keeper")
	a, h := keep(t, k, approvalstest.RunGate(t, gate.Options{Store: s}), "t1")
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := turnEvents(t, s, h.Requests()[0].ID); len(got) != 1 || got[0].Type != approvals.EventTurnDetached {
		t.Fatalf("events %v", approvalstest.EventTypes(got))
	}
}

// lateGate is a gate that has not told the keeper of any request.
type lateGate struct{}

func (lateGate) Ready() <-chan struct{}                            { return nil }
func (lateGate) Cancel(context.Context, string, string) error      { return nil }
func (lateGate) NotReleased(context.Context, string, string) error { return nil }

// The connection that had a turn loses it to a later claim.
func TestAClaimTakesOver(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{})
	a, _ := keep(t, k, g, "t1")
	b, _, err := k.Claim(t.Context(), only(t, k))
	if err != nil {
		t.Fatal(err)
	}
	if !lost(a) || lost(b) {
		t.Fatalf("lost: %v, %v", lost(a), lost(b))
	}
	for name, err := range map[string]error{"End": a.End(t.Context()), "Detach": a.Detach(t.Context()), "Update": a.Update(t.Context(), nil), "Confirm": a.Confirm(t.Context())} {
		if !errors.Is(err, approvals.ErrTaken) {
			t.Errorf("%s of the loser: %v", name, err)
		}
	}
	if err := b.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestPromise5_DecidedOnce_OneOfManyClaimsWins(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{})
	a, _ := keep(t, k, g, "t1")
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := only(t, k)
	var all sync.WaitGroup
	won := make(chan *heldturns.Attachment, 16)
	for range 16 {
		all.Go(func() {
			b, _, err := k.Claim(t.Context(), c)
			if err == nil {
				won <- b
			} else if !errors.Is(err, approvals.ErrTaken) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 || lost(<-won) {
		t.Fatalf("%d claims have won", len(won))
	}
}

// After a restart the turns of the process before are detached, and their requests open
// again without asking twice.
func TestPromise4_RecordedFirst_TurnSurvivesRestart(t *testing.T) {
	first := approvalstest.OpenStore()
	k, g, stop := run(t, first, heldturns.Options{})
	_, kept := keep(t, k, g, "t1")
	before := kept.Requests()
	stop()
	s := first.Reopen()
	k, g, _ = run(t, s, heldturns.Options{})
	c := only(t, k)
	if c.State != approvals.AgentDetached {
		t.Fatalf("%+v", c)
	}
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: before[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the turn is detached and ready", func() bool {
		return len(turnEvents(t, s, before[0].ID)) == 2
	})
	c = only(t, k)
	_, snapshot, err := k.Claim(t.Context(), c)
	if err != nil || string(snapshot) != "snapshot of t1" {
		t.Fatalf("%q, %v", snapshot, err)
	}
	h := approvalstest.Open(t, g, before...)
	approvalstest.Await(t, h.Done(), "the decision")
	if got := h.Requests()[0]; got.Status != approvals.StatusApproved {
		t.Fatalf("%+v", got)
	}
	if got := approvalstest.EventTypes(approvalstest.EventsOf(t, s, before[0].ID)); len(got) != 5 {
		t.Fatalf("events of the request: %v", got)
	}
	types := approvalstest.EventTypes(turnEvents(t, s, before[0].ID))
	want := []approvals.EventType{approvals.EventTurnDetached, approvals.EventTurnReady, approvals.EventTurnReattached}
	for i := range want {
		if len(types) != len(want) || types[i] != want[i] {
			t.Fatalf("events %v, want %v", types, want)
		}
	}
}

// An orphan ends after its time: its requests are cancelled and nothing is stored.
func TestAnOrphanEnds(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{OrphanTTL: time.Second})
	a, h := keep(t, k, g, "t1")
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	approvalstest.Await(t, h.Done(), "the cancellation")
	if r := h.Requests()[0]; r.Status != approvals.StatusCancelled || r.Details.CancelReason != approvals.CancelAgentGone {
		t.Fatalf("%s (%s)", r.Status, r.Details.CancelReason)
	}
	approvalstest.Eventually(t, "nothing is stored", func() bool { return !k.Any() })
	if _, err := k.Load(t.Context(), "t1"); !errors.Is(err, approvals.ErrUnknownTurn) {
		t.Fatal(err)
	}
}

// A claim whose write is done although it fails leaves no turn without an owner.
func TestAClaimWithAnUnknownOutcome(t *testing.T) {
	s := approvalstest.OpenStore()
	var lose atomic.Bool
	k, g, _ := run(t, s, heldturns.Options{Store: unknown{s.Held, &lose}})
	a, _ := keep(t, k, g, "t1")
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	lose.Store(true)
	if _, _, err := k.Claim(t.Context(), only(t, k)); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the turn is detached again", func() bool {
		state, _, err := s.Held.GetState(t.Context(), "t1")
		return err == nil && state.State == approvals.AgentDetached && only(t, k).State == approvals.AgentDetached
	})
	if _, snapshot, err := k.Claim(t.Context(), only(t, k)); err != nil || string(snapshot) != "snapshot of t1" {
		t.Fatalf("%q, %v", snapshot, err)
	}
}

// unknown is a store that loses the reply to one PutState.
type unknown struct {
	heldturns.Store
	lose *atomic.Bool
}

func (u unknown) PutState(ctx context.Context, s heldturns.State, revision uint64) (uint64, error) {
	written, err := u.Store.PutState(ctx, s, revision)
	if err == nil && u.lose.CompareAndSwap(true, false) {
		return 0, errDead
	}
	return written, err
}

// Every request that is served has the agent's state: published, read, listed and decided.
// The record does not.
func TestServedRequestsHaveTheAgentsState(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{})
	a, h := keep(t, k, g, "t1")
	id := h.Requests()[0].ID
	var r approvals.Request
	if err := json.Unmarshal(s.Published(id), &r); err != nil || r.Agent == nil || r.Agent.State != approvals.AgentAttached {
		t.Errorf("published: %+v, %v", r.Agent, err)
	}
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := g.Request(t.Context(), id)
	if err != nil || r.Agent == nil || r.Agent.State != approvals.AgentDetached || r.Agent.Since.IsZero() {
		t.Errorf("read: %+v, %v", r.Agent, err)
	}
	page, err := g.Requests(t.Context(), approvals.Filter{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Agent == nil || page.Items[0].Agent.State != approvals.AgentDetached {
		t.Errorf("listed: %+v, %v", page, err)
	}
	if r, err = g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionDeny, ReviewerID: "bob"}); err != nil || r.Agent == nil {
		t.Errorf("decided: %+v, %v", r.Agent, err)
	}
	if stored, err := s.GetRequest(t.Context(), id); err != nil || stored.Request.Agent != nil {
		t.Errorf("recorded: %+v, %v", stored.Request.Agent, err)
	}
	if _, _, err := k.Claim(t.Context(), only(t, k)); err != nil {
		t.Fatal(err)
	}
	if r, err = g.Request(t.Context(), id); err != nil || r.Agent == nil || r.Agent.State != approvals.AgentAttached {
		t.Errorf("attached again: %+v, %v", r.Agent, err)
	}
}

// A cancelled turn ends with its requests, also if the store fails in between.
func TestCancelEndsATurn(t *testing.T) {
	s := approvalstest.OpenStore()
	var down atomic.Bool
	k, g, _ := run(t, s, heldturns.Options{Store: faulty{s.Held, func(name string) error {
		if name == "End" && down.CompareAndSwap(true, false) {
			return errDead
		}
		return nil
	}}})
	a, h := keep(t, k, g, "t1")
	if err := k.Cancel(t.Context(), "t1", approvals.CancelAgentGone); !errors.Is(err, approvals.ErrTaken) {
		t.Fatalf("cancel an attached turn: %v", err)
	}
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := only(t, k)
	down.Store(true)
	if err := k.Cancel(t.Context(), "t1", approvals.CancelAgentGone); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Claim(t.Context(), c); !errors.Is(err, approvals.ErrTaken) && !errors.Is(err, approvals.ErrUnknownTurn) {
		t.Fatalf("claim a turn that is ending: %v", err)
	}
	approvalstest.Await(t, h.Done(), "the cancellation")
	if r := h.Requests()[0]; r.Status != approvals.StatusCancelled || r.Details.CancelReason != approvals.CancelAgentGone {
		t.Fatalf("%s (%s)", r.Status, r.Details.CancelReason)
	}
	approvalstest.Eventually(t, "nothing is stored", func() bool {
		_, _, err := s.Held.GetState(t.Context(), "t1")
		return !k.Any() && errors.Is(err, approvals.ErrUnknownTurn)
	})
	if err := k.Cancel(t.Context(), "t1", approvals.CancelAgentGone); !errors.Is(err, approvals.ErrUnknownTurn) {
		t.Fatal(err)
	}
}

// A parked turn stays as long as a request is pending, also after the orphan TTL.
func TestAParkedTurn(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{OrphanTTL: time.Second})
	a, h := keep(t, k, g, "t1")
	if err := a.Park(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // for what must not happen
	if c := only(t, k); c.State != approvals.AgentParked || c.Ended {
		t.Fatalf("%+v", c)
	}
	id := h.Requests()[0].ID
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "turn_ready is recorded", func() bool {
		types := approvalstest.EventTypes(turnEvents(t, s, id))
		return slices.Equal(types, []approvals.EventType{approvals.EventTurnParked, approvals.EventTurnReady})
	})
	approvalstest.Eventually(t, "the turn ends", func() bool { return !k.Any() })
}

// A request for which a turn of another agent waits outlives the turn that asked it.
func TestARequestOutlivesItsTurn(t *testing.T) {
	s := approvalstest.OpenStore()
	k, g, _ := run(t, s, heldturns.Options{OrphanTTL: time.Second})
	a, h := keep(t, k, g, "t1")
	other, _ := keep(t, k, g, "t2")
	other.Opened(h.Requests())
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the first turn has ended", func() bool {
		_, err := k.Load(t.Context(), "t1")
		return errors.Is(err, approvals.ErrUnknownTurn)
	})
	if r := h.Requests()[0]; r.Status != approvals.StatusPending {
		t.Fatalf("%s (%s)", r.Status, r.Details.CancelReason)
	}
}
