package store_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/store"
)

// messages returns the number of messages and bytes in a stream.
func messages(t *testing.T, s *store.Store, stream string) (n, bytes uint64) {
	t.Helper()
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	in, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	state := in.CachedInfo().State
	return state.Msgs, state.Bytes
}

// total returns the number of messages that were ever written to the streams.
func total(t *testing.T, s *store.Store) (n uint64) {
	t.Helper()
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		n += info.State.LastSeq
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// heldTurn returns a turn of the conversation c.
func heldTurn(id string) approvals.HeldTurn {
	return approvals.HeldTurn{ID: id, Conversation: "c", Fingerprint: "f"}
}

// A held call writes its turn, its request and the event before it is published.
func TestAHeldCallWritesThreeTimes(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	r := keep(t, s, heldturns.Options{})
	before := total(t, s)
	a, _ := r.keep(t, "t1")
	const shown = 1 // published to bots
	if n := total(t, s) - before; n != 3+shown {
		t.Errorf("%d messages were written, want %d", n, 3+shown)
	}
	before = total(t, s)
	if err := a.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := total(t, s) - before; n != 1 {
		t.Errorf("the end wrote %d messages, want 1", n)
	}
}

func TestPromise7_NothingHangs_LargeSnapshotIsRemoved(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	r := keep(t, s, heldturns.Options{OrphanTTL: time.Second})
	turn := heldTurn("t1")
	large := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	a, err := r.keeper.Keep(t.Context(), turn, large)
	if err != nil {
		t.Fatal(err)
	}
	if n, size := messages(t, s, "OBJ_"+store.BucketHeldObjects); n < 2 || size < 3<<20 {
		t.Fatalf("the object store has %d messages of %d bytes", n, size)
	}
	if got, err := r.keeper.Load(t.Context(), "t1"); err != nil || !bytes.Equal(got, large) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	// The turn is held again with a small snapshot, then with a large one.
	for _, snapshot := range [][]byte{[]byte("small"), large} {
		if err := a.Update(t.Context(), snapshot); err != nil {
			t.Fatal(err)
		}
		if got, err := r.keeper.Load(t.Context(), "t1"); err != nil || !bytes.Equal(got, snapshot) {
			t.Fatalf("after Update: %d bytes, %v", len(got), err)
		}
	}
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, got, err := r.keeper.Claim(t.Context(), r.keeper.Candidates("f")[0])
	if err != nil || !bytes.Equal(got, large) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if err := b.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, _ := messages(t, s, "OBJ_"+store.BucketHeldObjects); n != 0 {
		t.Errorf("%d messages are left in the object store", n)
	}
	approvalstest.Eventually(t, "the markers have expired", func() bool {
		n, _ := messages(t, s, "KV_"+store.BucketHeld)
		return n == 0 && len(r.keeper.Candidates("f")) == 0
	})
}

// A full store refuses turns, changes nothing about those that it has, and takes new ones
// when some have ended.
func TestAFullStoreRefusesTurns(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir(), MaxStored: 1 << 20})
	r := keep(t, s, heldturns.Options{})
	value := make([]byte, 200<<10)
	var all []*heldturns.Attachment
	for i := 0; ; i++ {
		turn := heldTurn(fmt.Sprintf("t%d", i))
		a, err := r.keeper.Keep(t.Context(), turn, value)
		if errors.Is(err, approvals.ErrNoRoom) {
			if _, ok := r.keeper.AgentState(turn.ID); ok {
				t.Error("the refused turn is in the index")
			}
			break
		}
		if err != nil || i > 10 {
			t.Fatal(i, err)
		}
		all = append(all, a)
	}
	if len(all) != 5 {
		t.Errorf("%d turns of 200 KiB fit into 1 MiB", len(all))
	}
	large := heldTurn("large")
	if _, err := r.keeper.Keep(t.Context(), large, make([]byte, 2<<20)); !errors.Is(err, approvals.ErrNoRoom) {
		t.Errorf("a large turn: %v", err)
	}
	if n, _ := messages(t, s, "OBJ_"+store.BucketHeldObjects); n != 0 {
		t.Errorf("the refused turn has left %d messages", n)
	}
	// A turn that grows is no longer stored: its old snapshot is out of date.
	if err := all[0].Update(t.Context(), make([]byte, 600<<10)); !errors.Is(err, approvals.ErrNoRoom) {
		t.Errorf("a turn that grows: %v", err)
	}
	if _, ok := r.keeper.AgentState("t0"); ok {
		t.Error("the old snapshot is still stored")
	}
	for _, a := range all[1:] {
		if err := a.Detach(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range r.keeper.Candidates("f") {
		if c.Ended {
			continue
		}
		b, _, err := r.keeper.Claim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.End(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	again := heldTurn("again")
	if _, err := r.keeper.Keep(t.Context(), again, value); err != nil {
		t.Fatal(err)
	}
}

// Snapshots that a crash has left without their turn are removed at the next start.
func TestPromise7_NothingHangs_StrayObjectsAreRemoved(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := js.ObjectStore(t.Context(), store.BucketHeldObjects)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects.PutBytes(t.Context(), "stray", make([]byte, 300<<10)); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "$O."+store.BucketHeldObjects+".C.unfinished", make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := s.HeldTurns.SweepBefore(t.Context(), func(string) bool { return false }, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, _ := messages(t, s, "OBJ_"+store.BucketHeldObjects); n == 0 {
		t.Fatal("a new object was removed: another process may be writing it")
	}
	if err := s.HeldTurns.SweepBefore(t.Context(), func(string) bool { return false }, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, _ := messages(t, s, "OBJ_"+store.BucketHeldObjects); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

var manyTurns = flag.Int("turns", 500, "stored turns at the start; make load sets 10000")

// The index of many turns is there within seconds after a start.
func TestManyTurnsAtTheStart(t *testing.T) {
	n, dir := *manyTurns, t.TempDir()
	s := open(t, store.Options{Dir: dir})
	snapshot := make([]byte, 2<<10)
	var group errgroup.Group
	group.SetLimit(64)
	for i := range n {
		group.Go(func() error {
			id := fmt.Sprintf("t%d", i)
			_, err := s.HeldTurns.Put(context.Background(), heldturns.Key{
				HeldTurn: approvals.HeldTurn{ID: id, Conversation: "c" + id, Fingerprint: "f" + id}, Owner: "before",
			}, snapshot)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	after := open(t, store.Options{Dir: dir})
	opened := time.Since(began)
	r := keep(t, after, heldturns.Options{})
	t.Logf("%d held turns: the store is open after %s, the keeper is ready after %s", n, opened, time.Since(began))
	if c := r.keeper.Candidates("ft7"); len(c) != 1 || c[0].State != approvals.AgentDetached {
		t.Fatalf("%+v", c)
	}
	approvalstest.Eventually(t, "all are recorded as detached", func() bool {
		recorded := 0
		for i := range n {
			if _, _, err := after.HeldTurns.GetState(t.Context(), fmt.Sprintf("t%d", i)); err != nil {
				return false
			}
			recorded++
		}
		return recorded == n
	})
	t.Logf("all are recorded as detached after %s", time.Since(began))
}

// A smaller bound removes no turn that is stored.
func TestASmallerBoundKeepsTurns(t *testing.T) {
	dir := t.TempDir()
	var kept []heldturns.Key
	for _, bound := range []int64{8 << 20, 1 << 20} {
		s, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-", MaxStored: bound})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			if bound > 1<<20 {
				k, err := s.HeldTurns.Put(t.Context(), heldturns.Key{HeldTurn: approvals.HeldTurn{ID: fmt.Sprint(i), Fingerprint: "f", Conversation: "c"}, Owner: "one"}, make([]byte, 300<<10))
				if err != nil {
					t.Fatal(err)
				}
				kept = append(kept, k)
			}
		}
		for _, k := range kept {
			if _, err := s.HeldTurns.Get(t.Context(), k); err != nil {
				t.Errorf("with a bound of %d: %v", bound, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
