package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

// keeping is a replica with a keeper of held turns.
type keeping struct {
	store  *store.Store
	keeper *heldturns.Keeper
	gate   *gate.Gate
	stop   func()
}

// keepingReplica starts a replica on an external server.
func keepingReplica(t *testing.T, url string) *keeping {
	t.Helper()
	s := open(t, store.Options{URL: url})
	return keep(t, s, heldturns.Options{Leases: s.HeldTurns.Leases})
}

// keep starts a keeper and its gate on a store.
func keep(t *testing.T, s *store.Store, o heldturns.Options) *keeping {
	t.Helper()
	o.Store = s.ForHeldTurns()
	r := &keeping{store: s, keeper: heldturns.New(o)}
	r.gate = gate.New(gate.Options{Store: r.store.ForGate(), Turns: r.keeper})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.keeper.Run(ctx, r.gate) })
	wait(t, r.keeper.Ready(), "the keeper")
	running.Go(func() { _ = r.gate.Run(ctx) })
	r.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(r.stop)
	wait(t, r.gate.Ready(), "the gate")
	return r
}

// keep keeps a turn and opens its request.
func (r *keeping) keep(t *testing.T, id string) (*heldturns.Attachment, *gate.Hold) {
	t.Helper()
	requests := []approvals.Request{{Kind: approvals.KindPermission, TurnID: id, ToolName: "rm", Arguments: []byte(`{}`), ExpiresAt: time.Now().Add(time.Hour)}}
	r.gate.Prepare(requests)
	a, err := r.keeper.Keep(t.Context(), approvals.HeldTurn{ID: id, Conversation: "c", Fingerprint: id}, []byte("snapshot of "+id))
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.gate.Open(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	a.Opened(h.Requests())
	return a, h
}

// is reports whether a turn is in a state at this replica.
func (r *keeping) is(id string, want approvals.AttachState) func() bool {
	return func() bool {
		all := r.keeper.Candidates(id)
		return len(all) == 1 && !all[0].Ended && all[0].State == want
	}
}

// A watch whose consumer is lost with its server is opened again, and misses nothing.
func TestAWatchWithoutItsConsumerIsOpenedAgain(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	one, two := keepingReplica(t, e.url), keepingReplica(t, e.url)
	conn, err := natsgo.Connect(e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	deleted := 0
	for _, bucket := range []string{store.BucketHeld, store.BucketHeldStates} {
		stream, err := js.Stream(t.Context(), "KV_"+bucket)
		if err != nil {
			t.Fatal(err)
		}
		for name := range stream.ConsumerNames(t.Context()).Name() {
			if err := stream.DeleteConsumer(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			deleted++
		}
	}
	if deleted != 4 {
		t.Fatalf("two replicas have %d consumers", deleted)
	}
	a, _ := one.keep(t, "t1")
	approvalstest.Eventually(t, "the other replica knows the turn", two.is("t1", approvals.AgentAttached))
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the other replica knows that it is detached", two.is("t1", approvals.AgentDetached))
}

// While a replica waits for the store, the others know that the agent of its turn may have
// left.
func TestPromise12_AskedOnce_TurnThatIsBeingRecorded(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	one, two := keepingReplica(t, e.url), keepingReplica(t, e.url)
	a, err := one.keeper.Keep(t.Context(), approvals.HeldTurn{ID: "t1", Conversation: "c", Fingerprint: "t1"}, []byte("snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	unrecorded := func(want bool) func() bool {
		return func() bool {
			all := two.keeper.Candidates("t1")
			return len(all) == 1 && all[0].State == approvals.AgentAttached && all[0].Unrecorded == want
		}
	}
	approvalstest.Eventually(t, "it lives, and nothing is named", unrecorded(false))
	approvalstest.Eventually(t, "the lease names the turn", unrecorded(true))
	a.Opened(nil)
	approvalstest.Eventually(t, "the lease does not name it any more", unrecorded(false))
}

// A replica sees the turns of another, with the state in the request, and takes over what
// that one leaves; its agent gets the decision.
func TestPromise4_RecordedFirst_TurnMovesToAnotherReplica(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	one, two := keepingReplica(t, e.url), keepingReplica(t, e.url)
	_, h := one.keep(t, "t1")
	id := h.Requests()[0].ID
	approvalstest.Eventually(t, "the other replica knows the turn", two.is("t1", approvals.AgentAttached))
	if c := two.keeper.Candidates("t1")[0]; !c.Unsure {
		t.Errorf("%+v is not remote", c)
	}
	one.stop() // removes its lease
	approvalstest.Eventually(t, "the turn is detached", two.is("t1", approvals.AgentDetached))
	if r, err := two.gate.Request(t.Context(), id); err != nil || r.Agent == nil || r.Agent.State != approvals.AgentDetached {
		t.Errorf("the request shows %+v, %v", r.Agent, err)
	}
	approvalstest.Eventually(t, "its event is recorded", func() bool { return eventsOf(t, two.store, id)[approvals.EventTurnDetached] == 1 })
	a, snapshot, err := two.keeper.Claim(t.Context(), two.keeper.Candidates("t1")[0])
	if err != nil || string(snapshot) != "snapshot of t1" {
		t.Fatalf("%q, %v", snapshot, err)
	}
	again, err := two.gate.Open(t.Context(), h.Requests())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.gate.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	wait(t, again.Done(), "the hold")
	if err := a.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	three := keepingReplica(t, e.url)
	if c := three.keeper.Candidates("t1"); len(c) != 1 || !c[0].Ended || three.keeper.Any() {
		t.Errorf("a new replica knows %+v", c)
	}
	if got := eventsOf(t, two.store, id); got[approvals.EventApprovalRequired] != 1 || got[approvals.EventTurnReattached] != 1 || got[approvals.EventTurnDetached] != 1 {
		t.Errorf("events %v", got)
	}
}

// eventsOf counts the events of a request.
func eventsOf(t *testing.T, s *store.Store, id string) map[approvals.EventType]int {
	t.Helper()
	counts := map[approvals.EventType]int{}
	for entry, err := range s.Events.Entries(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Event.RequestID == id {
			counts[entry.Event.Type]++
		}
	}
	return counts
}

// Replicas that claim a turn at the same time: one wins. A later claim with a retry takes the
// turn over from the other replica.
func TestPromise5_DecidedOnce_ReplicasClaimAtOnce(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	replicas := []*keeping{keepingReplica(t, e.url), keepingReplica(t, e.url)}
	for _, id := range []string{"t1", "t2", "t3", "t4", "t5"} {
		a, _ := replicas[0].keep(t, id)
		if err := a.Detach(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range replicas {
			approvalstest.Eventually(t, "the turn is detached", r.is(id, approvals.AgentDetached))
		}
		var all sync.WaitGroup
		won := make(chan *heldturns.Attachment, 8)
		for i := range 8 {
			r := replicas[i%2]
			all.Go(func() {
				c := r.keeper.Candidates(id)[0]
				if c.State != approvals.AgentDetached {
					return // another connection was faster
				}
				if a, _, err := r.keeper.Claim(t.Context(), c); err == nil {
					won <- a
				} else if !errors.Is(err, approvals.ErrTaken) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("%d connections have claimed %s", len(won), id)
		}
		winner := <-won
		for _, r := range replicas {
			approvalstest.Eventually(t, "the turn is attached", r.is(id, approvals.AgentAttached))
		}
		for _, r := range replicas { // one of them is the other replica
			if _, _, err := r.keeper.Claim(t.Context(), r.keeper.Candidates(id)[0]); err != nil && !errors.Is(err, approvals.ErrTaken) {
				t.Fatal(err)
			}
		}
		wait(t, winner.Lost(), "the loss of the turn")
		if err := winner.Confirm(t.Context()); !errors.Is(err, approvals.ErrTaken) {
			t.Errorf("the loser confirms its turn: %v", err)
		}
	}
}

// A replica that dies without notice is known as dead when its lease has run out. One that
// was only cut off takes its turns back, unless they were claimed.
func TestPromise7_NothingHangs_ReplicaIsCutOff(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	cut := newCut(t, e.url)
	one, two := keepingReplica(t, cut.url), keepingReplica(t, e.url)
	kept, _ := one.keep(t, "kept")
	claimed, h := one.keep(t, "claimed")
	for _, id := range []string{"kept", "claimed"} {
		approvalstest.Eventually(t, "the turn is known", two.is(id, approvals.AgentAttached))
	}
	cut.set(true)
	for _, id := range []string{"kept", "claimed"} {
		approvalstest.Eventually(t, "the turn is detached", two.is(id, approvals.AgentDetached))
	}
	a, _, err := two.keeper.Claim(t.Context(), two.keeper.Candidates("claimed")[0])
	if err != nil {
		t.Fatal(err)
	}
	approvalstest.Eventually(t, "the detachment is recorded", func() bool {
		state, _, err := two.store.HeldTurns.GetState(t.Context(), "kept")
		return err == nil && state.State == approvals.AgentDetached
	})
	cut.set(false)
	wait(t, claimed.Lost(), "the loss of the claimed turn")
	approvalstest.Eventually(t, "the other turn is attached again", two.is("kept", approvals.AgentAttached))
	select {
	case <-kept.Lost():
		t.Error("the turn that was not claimed is lost")
	default:
	}
	approvalstest.Eventually(t, "it is confirmed", func() bool { return kept.Confirm(t.Context()) == nil })
	if err := claimed.End(t.Context()); !errors.Is(err, approvals.ErrTaken) {
		t.Errorf("the loser ends the turn: %v", err)
	}
	if err := a.Confirm(t.Context()); err != nil {
		t.Error(err)
	}
	if r, err := two.gate.Request(t.Context(), h.Requests()[0].ID); err != nil || r.Status != approvals.StatusPending {
		t.Errorf("%+v, %v", r, err)
	}
}

// A full bucket of a cluster takes no more turns, but lets those that it has end.
func TestAFullClusterLetsTurnsEnd(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{URL: natscluster.Start(t, 3).URLs(), MaxStored: 1 << 20})
	var kept []heldturns.Key
	for i := 0; ; i++ {
		k, err := s.HeldTurns.Put(t.Context(), heldturns.Key{HeldTurn: approvals.HeldTurn{ID: strconv.Itoa(i)}, Owner: "one"}, make([]byte, 1000))
		if errors.Is(err, approvals.ErrNoRoom) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, k)
	}
	t.Logf("%d turns of 1,000 bytes fit into 1 MiB", len(kept))
	for _, k := range kept {
		if err := s.HeldTurns.End(t.Context(), k, time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := s.HeldTurns.Get(t.Context(), k); !errors.Is(err, approvals.ErrUnknownTurn) {
			t.Fatal(err)
		}
	}
	if _, err := s.HeldTurns.Put(t.Context(), heldturns.Key{HeldTurn: approvals.HeldTurn{ID: "more"}, Owner: "one"}, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
}

// A server with less storage than hold.max_stored gets a smaller bound.
func TestAServerWithLittleStorage(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, JetStreamMaxStore: 64 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	e := &external{server: srv, url: srv.ClientURL()}
	t.Cleanup(e.stop)
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	var log written
	s := open(t, store.Options{URL: e.url, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := s.HeldTurns.Put(t.Context(), heldturns.Key{HeldTurn: approvals.HeldTurn{ID: "t1"}, Owner: "one"}, make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "hold.max_stored") {
		t.Errorf("logged %s", log.String())
	}
}

// A replica knows the hidden turns that another one wrote before, although its watch may be late.
func TestTurnsOfAnotherReplica(t *testing.T) {
	external := startExternal(t, 0, t.TempDir())
	first, second := open(t, store.Options{URL: external.url}), open(t, store.Options{URL: external.url})
	times := 0
	for i := range 300 {
		session := fmt.Sprintf("session %d", i)
		if err := first.Turns.PutTurn(t.Context(), session, "01", []byte("denied")); err != nil {
			t.Fatal(err)
		}
		known, err := second.Turns.AwaitTurns(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if known {
			times++
		}
		if known && !second.Turns.HasTurns(session) {
			t.Fatalf("the turn of session %d is not known", i)
		}
	}
	if times == 0 {
		t.Error("the replica never knew the turns")
	}
}
