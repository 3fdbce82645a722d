// Package storetest is what every store of heldcall must do, as a test: the properties that the rest of
// heldcall relies on, in the words of the domain.
//
// Read [Run] and the list of properties, then requests.go, events.go and the like.
package storetest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/webhook"
	"github.com/heldcall/heldcall/notify/webpush"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// Store is the state as one process has it open.
type Store struct {
	Gate       approvals.Store
	Grants     approvals.GrantStore
	Log        Log
	Held       heldturns.Store
	Leases     heldturns.Leases // nil: one process has the state open at a time
	Turns      conversation.Store
	Deliveries Deliveries
	Push       webpush.Store
	Passkeys   passkeys.Store
	Secrets    secrets.Store
	Counts     policy.SharedCounts
	Close      func() error
}

// Log is the audit log, as its keeper and the console read it.
type Log interface {
	audit.Stored
	EntriesFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error]
}

// Deliveries has what channels deliver and keep.
type Deliveries interface {
	notify.Store
	webhook.Deliveries
}

// Options describes a state.
type Options struct {
	Open      func(t testing.TB) *Store // opens the state, which is empty at first
	MaxRecord int                       // bytes that a record may have
	Shared    bool                      // several processes may have it open at the same time
	Marks     bool                      // a later process knows which requests are closed
}

// MaxStored is the bound of the held turns of the state, in bytes.
const MaxStored = 4 << 20

// suite is a state that is being tested. Its properties share it, so each has records of its own.
type suite struct {
	Options
	first, second *Store // the same, unless the state is shared
	later         []later
}

// later is what a process that opens the state later must find.
type later struct {
	of    string
	check func(*testing.T, *Store)
}

// properties are in the order in which they run.
var properties = []struct {
	name  string
	check func(*suite, *testing.T)
}{
	{"a record is read as it was written", (*suite).roundTrips},
	{"what is not recorded is unknown", (*suite).unknown},
	{"what is too large is refused and not recorded", (*suite).tooLarge},
	{"a request is created once", (*suite).createdOnce},
	{"of writers of the same revision one wins", (*suite).oneWriterWins},
	{"a watch reports what is there, then each change once and in order", (*suite).watches},
	{"a watch ends with its context", (*suite).watchesEnd},
	{"a later process reads the requests that are not closed", (*suite).closedRequests},
	{"requests without a record are named", (*suite).missingRequests},
	{"a list has pages, which later requests do not shift", (*suite).pages},
	{"a list is filtered", (*suite).filters},
	{"a deleted grant stays deleted", (*suite).deletedGrant},
	{"events are a chain, in order", (*suite).events},
	{"an event is ensured once", (*suite).ensuredOnce},
	{"events are followed", (*suite).followedEvents},
	{"the log is read in parts", (*suite).partsOfTheLog},
	{"an event is delivered to one follower of a channel", (*suite).deliveries},
	{"an event is delivered until it is acknowledged", (*suite).acknowledged},
	{"the state of a channel changes at its revision", (*suite).channelState},
	{"a held turn has one snapshot until it ends", (*suite).heldTurns},
	{"held turns have a bound", (*suite).boundOfHeldTurns},
	{"the state of a held turn changes at its revision", (*suite).turnStates},
	{"a keeper can wait for what others have written", (*suite).awaitTurns},
	{"a lease is known to the others", (*suite).leases},
	{"hidden turns are those of their session", (*suite).hiddenTurns},
	{"a turn is taken once", (*suite).takenOnce},
	{"a secret changes at its revision", (*suite).secrets},
	{"keys are made once", (*suite).keys},
	{"passkeys change at their revision", (*suite).passkeys},
	{"no count of a limit is lost", (*suite).counts},
	{"a call with a context that has ended fails as unavailable", (*suite).endedContexts},
	{"what was written is there later", (*suite).reopened},
	{"old events are dropped, and the chain goes on", (*suite).droppedEvents},
	{"a closed store is not available", (*suite).closed},
}

// Run tests a state.
func Run(t *testing.T, o Options) {
	s := &suite{Options: o, first: o.Open(t)}
	s.second = s.first
	if o.Shared {
		s.second = o.Open(t)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) { p.check(s, t) })
	}
}

// close closes the stores that are open.
func (s *suite) close() error {
	var failed []error
	for _, open := range slices.Compact([]*Store{s.first, s.second}) {
		if open != nil {
			failed = append(failed, open.Close())
		}
	}
	s.first, s.second = nil, nil
	return errors.Join(failed...)
}

// laterToo checks something now, and in a process that opens the state later.
func (s *suite) laterToo(t *testing.T, check func(*testing.T, *Store)) {
	t.Helper()
	check(t, s.second)
	s.later = append(s.later, later{t.Name(), check})
}

// reopened checks what was written before in a later process.
func (s *suite) reopened(t *testing.T) {
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s.first = s.Open(t)
	s.second = s.first
	for _, l := range s.later {
		t.Run(l.of, func(t *testing.T) { l.check(t, s.first) })
	}
}

// atOnce calls write n times at the same time, by turns with both stores, and returns how many succeed.
// The others must fail with [approvals.ErrConflict].
func (s *suite) atOnce(t *testing.T, n int, write func(s *Store, i int) error) (won []int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := write([]*Store{s.first, s.second}[i%2], i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, i)
			} else if !errors.Is(err, approvals.ErrConflict) {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	all.Wait()
	return won
}

// must returns a value, or ends the test with the error.
func must[T any](t testing.TB) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// ok ends the test with an error that is not nil.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want reports an error of another kind.
func want(t testing.TB, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want an error that is %q", what, err, kind)
	}
}

// soon bounds every wait. Nothing is timed with it.
const soon = 30 * time.Second

// receive returns the next value, or ends the test.
func receive[T any](t testing.TB, from <-chan T, what string) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(soon):
		t.Fatalf("waited in vain for %s", what)
	}
	return value
}

// eventually waits until a condition is true.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > soon {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// background calls run until stop is called or the test ends. stop reports its error.
func background(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := receive(t, ended, "the end of a goroutine"); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// ids makes the ids of events and requests.
var ids approvals.IDSource

// newID returns an id that is later than the others.
func newID() string { return ids.Next(time.Now()) }

// event returns an event that nobody else has.
func event(typ approvals.EventType, note string) approvals.Event {
	return approvals.Event{ID: newID(), Type: typ, Time: time.Now().UTC(), Note: note}
}

// request returns a request that nobody else has.
func request(tool string) approvals.Request {
	return approvals.Request{
		ID: newID(), Kind: approvals.KindPermission, Status: approvals.StatusPending, Principal: approvals.Principal{Tenant: "acme", User: "ann"},
		SessionID: "session", RunID: "run", ToolName: tool, Arguments: []byte(`{"path":"<a>&b","n":9007199254740993}`), CreatedAt: time.Now().UTC(),
	}
}
