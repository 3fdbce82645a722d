//go:build replicas && unix

package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

// openTogether opens a store three times at the same moment.
func openTogether(t *testing.T, o store.Options) (stores [3]*store.Store) {
	t.Helper()
	var all errgroup.Group
	for i := range stores {
		all.Go(func() (err error) {
			for {
				stores[i], err = store.Open(t.Context(), o)
				if err == nil || !strings.Contains(err.Error(), "connect to NATS") { // they may not listen yet
					return err
				}
			}
		})
	}
	t.Cleanup(func() {
		for _, s := range stores {
			if s != nil {
				_ = s.Close()
			}
		}
	})
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	return stores
}

// Replicas start at the same moment on an empty cluster, and so do the servers of the
// cluster. All streams have three copies.
func TestReplicasStartTogether(t *testing.T) {
	c := natscluster.New(t, 3)
	for i := range 3 {
		c.Restart(i)
	}
	for _, s := range openTogether(t, store.Options{URL: c.URLs()}) {
		if err := s.Healthy(t.Context()); err != nil {
			t.Error(err)
		}
		for name, copies := range streams(t, s) {
			if copies != 3 {
				t.Errorf("%s has %d copies", name, copies)
			}
		}
	}
}

// In a cluster every record has a copy on each of three servers, so the loss of one, even of
// the one that the store is connected to, loses no record.
func TestPromise4_RecordedFirst_ClusterLosesAServer(t *testing.T) {
	c := natscluster.Start(t, 3)
	s, g := replica(t, c.URLs())
	h, id := hold(t, g, time.Hour)
	if err := s.Turns.PutTurn(t.Context(), "s1", "t1", []byte("hidden")); err != nil {
		t.Fatal(err)
	}
	lost := s.Conn().ConnectedUrl()
	for i := range 3 {
		if c.URL(i) == lost {
			c.Kill(i)
		}
	}
	eventually(t, func() error {
		_, err := g.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove, ReviewerID: "bob"})
		var decided *approvals.DecidedError
		if errors.As(err, &decided) && decided.Request.Status == approvals.StatusApproved {
			return nil
		}
		return err
	})
	wait(t, h.Done(), "the hold")
	eventually(t, func() error { // each stream elects a leader of its own
		turns, err := s.Turns.Turns(t.Context(), "s1")
		if err == nil && len(turns) != 1 {
			t.Fatalf("%q", turns)
		}
		return err
	})
	eventually(t, func() error {
		_, err := audit.Verify(s.Events.Entries(t.Context(), 1))
		return err
	})
}

// eventually calls try until it succeeds.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Since(start) > 2*time.Minute {
			t.Fatal(err)
		}
	}
}

// streams returns the streams of a store with the numbers of their copies.
func streams(t *testing.T, s *store.Store) map[string]int {
	t.Helper()
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		found[info.Config.Name] = info.Config.Replicas
		if direct := info.Config.Replicas == 1; info.Config.AllowDirect != direct {
			t.Errorf("%s: followers answer reads: %t", info.Config.Name, info.Config.AllowDirect)
		}
	}
	if list.Err() != nil || found[subjects.StreamEvents] == 0 {
		t.Fatalf("%v, %v", found, list.Err())
	}
	return found
}

// Counts of limits are those of all replicas: no change is lost, and a change that writes
// nothing has seen the last value.
func TestLimitsOfReplicas(t *testing.T) {
	e := startExternal(t, 0, t.TempDir())
	var stores [2]*store.Store
	for i := range stores {
		stores[i] = open(t, store.Options{URL: e.url})
	}
	key := strings.Repeat("a1", 32)
	take := func(s *store.Store, limit int) (taken bool) {
		if err := s.Limits.Update(t.Context(), key, func(old []byte) ([]byte, error) {
			if taken = len(old) < limit; !taken {
				return nil, nil
			}
			return append(slices.Clip(old), 'x'), nil
		}); err != nil {
			t.Error(err)
		}
		return taken
	}
	var passed atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				if take(stores[i%2], 50) {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if passed.Load() != 50 {
		t.Errorf("%d of 50 calls have passed", passed.Load())
	}
	if !take(stores[0], 51) || take(stores[1], 51) || !take(stores[1], 52) {
		t.Error("a replica goes by an old count")
	}
	e.stop()
	if err := stores[0].Limits.Update(t.Context(), key, func([]byte) ([]byte, error) { return []byte("y"), nil }); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("without a server: %v", err)
	}
}
