// Package approvalstest sets up tests of approvals: a store in memory, running gates and grants,
// requests, and the events in the audit log.
package approvalstest

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/internal/testing/memstore"
)

// Store is a store for a gate and grants.
type Store struct {
	memstore.GateStore
	*memstore.Grants
	Turns *memstore.Turns
	Held  memstore.HeldTurnStore
	Log   *memstore.Log

	state *memstore.Store
}

// RecentEvents is that of [memstore.Log].
func (s Store) RecentEvents(ctx context.Context, n int) iter.Seq2[approvals.Event, error] {
	return s.Log.RecentEvents(ctx, n)
}

// Entries is that of [memstore.Log].
func (s Store) Entries(ctx context.Context, from uint64) iter.Seq2[audit.Entry, error] {
	return s.Log.Entries(ctx, from)
}

// OpenStore opens an empty store.
func OpenStore() Store { return parts(memstore.New(memstore.Options{})) }

// Reopen returns the same state as another process opens it: a replica, or a later start.
func (s Store) Reopen() Store { return parts(s.state.Reopen()) }

// ForgetClosed is that of [memstore.Requests].
func (s Store) ForgetClosed() { s.state.Requests.ForgetClosed() }

// Close ends the use of the store by its process.
func (s Store) Close() error { return s.state.Close() }

func parts(s *memstore.Store) Store {
	return Store{s.ForGate(), s.Grants, s.Turns, s.ForHeldTurns(), s.Events, s}
}

// RunGate returns a gate that is ready and runs until the end of the test.
func RunGate(t testing.TB, o gate.Options) *gate.Gate {
	t.Helper()
	g := gate.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	Await(t, g.Ready(), "the gate to be ready")
	return g
}

// Await waits until a channel is closed, and fails the test after two minutes.
func Await(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(2 * time.Minute):
		t.Fatalf("waited in vain for %s", what)
	}
}

// Eventually waits until a condition is true, and fails the test after two minutes.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for start := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > 2*time.Minute {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// Open opens a hold for requests.
func Open(t testing.TB, g *gate.Gate, requests ...approvals.Request) *gate.Hold {
	t.Helper()
	h, err := g.Open(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Log has the entries of an audit log from a sequence on.
type Log interface {
	Entries(ctx context.Context, from uint64) iter.Seq2[audit.Entry, error]
}

// EventsOf returns the events of a request in the audit log, which it verifies.
func EventsOf(t testing.TB, log Log, id string) []approvals.Event {
	t.Helper()
	var events []approvals.Event
	_, err := audit.Verify(func(yield func(audit.Entry, error) bool) {
		for entry, err := range log.Entries(t.Context(), 1) {
			if entry.Event.RequestID == id {
				events = append(events, entry.Event)
			}
			if !yield(entry, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// EventTypes returns the types of events.
func EventTypes(events []approvals.Event) []approvals.EventType {
	var types []approvals.EventType
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}
