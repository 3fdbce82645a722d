package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store"
)

// group returns n events with the ids name-0, name-1 ...
func group(name string, n int) (events []approvals.Event) {
	for i := range n {
		events = append(events, approvals.Event{ID: fmt.Sprintf("%s-%d", name, i), Type: approvals.EventCallAllowed, RunID: name})
	}
	return events
}

// wantOnce verifies the chain, and that each event of the groups is in it once, in the order
// of its group. It returns the number of entries.
func wantOnce(t *testing.T, s *store.Store, groups ...[]approvals.Event) uint64 {
	t.Helper()
	at := map[string]uint64{}
	report, err := audit.Verify(func(yield func(audit.Entry, error) bool) {
		for entry, err := range s.Events.Entries(t.Context(), 1) {
			if first := at[entry.Event.ID]; first > 0 {
				t.Errorf("event %s is in the entries %d and %d", entry.Event.ID, first, entry.Seq)
			}
			at[entry.Event.ID] = entry.Seq
			if !yield(entry, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, events := range groups {
		var last uint64
		for _, e := range events {
			if at[e.ID] <= last {
				t.Errorf("event %s is entry %d, the one before it in its group %d", e.ID, at[e.ID], last)
			}
			last = at[e.ID]
		}
	}
	return report.Count
}

// The entries of a type are found in their order, among others, on the embedded server and on another one.
func TestChanges(t *testing.T) {
	for name, options := range map[string]store.Options{
		"embedded": {Dir: t.TempDir()},
		"external": {URL: startExternal(t, 0, t.TempDir()).url, Scratch: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, options)
			if found, err := s.Events.Changes(t.Context(), approvals.EventPolicyChanged); len(found) > 0 || err != nil {
				t.Errorf("in an empty log: %v, %v", found, err)
			}
			var ids approvals.IDSource
			var want []string
			for i := range 30 {
				e := approvals.Event{ID: ids.Next(time.Now()), Type: approvals.EventCallAllowed}
				if i%10 == 0 {
					e.Type, e.Tenant = approvals.EventPolicyChanged, fmt.Sprint("tenant-", i)
					want = append(want, e.ID)
				}
				if err := s.Events.AppendEvents(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			found, err := s.Events.Changes(t.Context(), approvals.EventPolicyChanged)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, entry := range found {
				got = append(got, entry.Event.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("found %v, want %v", got, want)
			}
		})
	}
}

// Two stores append groups of several sizes to one stream at the same time, and one of them
// ensures the same events too.
func TestAuditChain_AppendersOfGroups(t *testing.T) {
	external := startExternal(t, 0, t.TempDir())
	stores := []*store.Store{open(t, store.Options{URL: external.url}), open(t, store.Options{URL: external.url})}
	var groups [2][][]approvals.Event
	var all sync.WaitGroup
	for i, s := range stores {
		for n := range 40 {
			groups[i] = append(groups[i], group(fmt.Sprintf("g%d-%d", i, n), 1+n%12))
		}
		all.Go(func() {
			for _, events := range groups[i] {
				if err := s.Events.AppendEvents(t.Context(), events...); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for _, events := range groups[i][:10] {
				if err := stores[0].Events.EnsureEvent(t.Context(), events[0]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want := uint64(0)
	for _, events := range append(groups[0], groups[1]...) {
		want += uint64(len(events))
	}
	if n := wantOnce(t, stores[1], append(groups[0], groups[1]...)...); n != want {
		t.Errorf("%d entries, want %d", n, want)
	}
}

// One event of a group, at any place in it, is in the log of the embedded server already. The others
// are appended in their order. A large group is an atomic batch.
func TestEmbeddedGroupWithDuplicate(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	var all []approvals.Event
	for _, place := range []struct{ at, of int }{{0, 4}, {1, 4}, {2, 4}, {3, 4}, {0, 40}, {20, 40}, {39, 40}} {
		at, events := place.at, group(fmt.Sprintf("place-%d-of-%d", place.at, place.of), place.of)
		for _, part := range [][]approvals.Event{events[at : at+1], events} {
			if err := s.Events.AppendEvents(t.Context(), part...); err != nil {
				t.Fatalf("place %d of %d: %v", at, place.of, err)
			}
		}
		wantOnce(t, s, slices.Delete(slices.Clone(events), at, at+1))
		all = append(all, events...)
	}
	if n := wantOnce(t, s); n != uint64(len(all)) {
		t.Errorf("%d entries, want %d", n, len(all))
	}
}

// Many turns record two events each at the same time: in batches while others are written, and singly
// at the ends. Each event is in the chain once, in the order of its turn.
func TestEmbeddedGroupsOfManyTurns(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir()})
	var all sync.WaitGroup
	groups := make([][]approvals.Event, 64*4)
	for turn := range 64 {
		all.Go(func() {
			for n := range 4 {
				events := group(fmt.Sprintf("turn-%d-%d", turn, n), 2)
				groups[4*turn+n] = events
				if err := s.Events.AppendEvents(t.Context(), events...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := wantOnce(t, s, groups...); n != uint64(2*len(groups)) {
		t.Errorf("%d entries of %d turns", n, len(groups))
	}
}

// The connection is lost before an event of a group has reached the server, or before its
// reply has come back. After the reconnect each event is in the log once.
func TestConnectionLostWithinAGroup(t *testing.T) {
	external := startExternal(t, 0, t.TempDir())
	for at := range 3 {
		for _, stored := range []bool{false, true} {
			name := fmt.Sprintf("event-%d-stored-%t", at, stored)
			t.Run(name, func(t *testing.T) {
				relay, events := newEventRelay(t, external.url), group(name, 3)
				s := open(t, store.Options{URL: relay.url})
				relay.loseAt(at, stored)
				if err := s.Events.AppendEvents(t.Context(), events...); err != nil {
					t.Error(err)
				}
				if !relay.lost.Load() {
					t.Error("no connection was lost")
				}
				wantOnce(t, s, events)
			})
		}
	}
}

// eventRelay relays connections to a NATS server, and can lose one at an event.
type eventRelay struct {
	url string

	mu     sync.Mutex
	left   int  // events until the connection is lost, not lost below 0
	stored bool // the event reaches the server
	lost   atomic.Bool
}

func newEventRelay(t *testing.T, url string) *eventRelay {
	t.Helper()
	r := &eventRelay{left: -1}
	r.url = startRelay(t, url, func(relays *sync.WaitGroup, client, server net.Conn) {
		end := sync.OnceFunc(func() { _ = errors.Join(client.Close(), server.Close()) })
		waiting := make(chan struct{}) // closed when the reply to the last event is awaited
		relays.Go(func() { defer end(); r.toServer(client, server, waiting) })
		relays.Go(func() { defer end(); r.toClient(server, client, waiting) })
	}, func() {}) // they end with the clients
	return r
}

// loseAt loses the connection at the nth event from now on.
func (r *eventRelay) loseAt(n int, stored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left, r.stored = n, stored
}

// toServer relays to the server. It returns at the event at which the connection is lost.
func (r *eventRelay) toServer(from, to net.Conn, waiting chan struct{}) {
	data := make([]byte, 64<<10)
	for {
		n, err := from.Read(data)
		if err != nil {
			return
		}
		r.mu.Lock()
		here := false
		if r.left >= 0 && bytes.Contains(data[:n], []byte("HPUB heldcall.v1.events.")) {
			here = r.left == 0
			r.left--
		}
		stored := r.stored
		r.mu.Unlock()
		if here && stored {
			close(waiting)
		} else if here {
			r.lost.Store(true)
			return
		}
		if _, err := to.Write(data[:n]); err != nil {
			return
		}
	}
}

// toClient relays to the client. It returns at the reply to the last event.
func (r *eventRelay) toClient(from, to net.Conn, waiting chan struct{}) {
	data := make([]byte, 64<<10)
	for {
		n, err := from.Read(data)
		if err != nil {
			return
		}
		select {
		case <-waiting:
			if bytes.Contains(data[:n], []byte(`"seq":`)) {
				r.lost.Store(true)
				return
			}
		default:
		}
		if _, err := to.Write(data[:n]); err != nil {
			return
		}
	}
}
