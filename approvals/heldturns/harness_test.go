package heldturns_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/heldturns"
)

// run starts a keeper and its gate on a store until stop is called or the test ends.
func run(t testing.TB, s approvalstest.Store, o heldturns.Options) (k *heldturns.Keeper, g *gate.Gate, stop func()) {
	t.Helper()
	if o.Store == nil {
		o.Store = s.Held
	}
	k = heldturns.New(o)
	g = gate.New(gate.Options{Store: s, Turns: k})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx, g); err != nil {
			t.Error(err)
		}
	})
	approvalstest.Await(t, k.Ready(), "the keeper")
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	approvalstest.Await(t, g.Ready(), "the gate")
	return k, g, stop
}

// held returns a turn and one request of it.
func held(g *gate.Gate, id string) (approvals.HeldTurn, []approvals.Request) {
	r := approvalstest.Request("bash")
	r.TurnID = id
	requests := []approvals.Request{r}
	g.Prepare(requests)
	return approvals.HeldTurn{ID: id, Conversation: "c1", Fingerprint: "f1"}, requests
}

// keep keeps a turn and opens its request.
func keep(t testing.TB, k *heldturns.Keeper, g *gate.Gate, id string) (*heldturns.Attachment, *gate.Hold) {
	t.Helper()
	turn, requests := held(g, id)
	a, err := k.Keep(t.Context(), turn, []byte("snapshot of "+id))
	if err != nil {
		t.Fatal(err)
	}
	h := approvalstest.Open(t, g, requests...)
	a.Opened(h.Requests())
	return a, h
}

// only returns the only candidate.
func only(t testing.TB, k *heldturns.Keeper) heldturns.Candidate {
	t.Helper()
	all := k.Candidates("f1")
	if len(all) != 1 {
		t.Fatalf("candidates: %+v", all)
	}
	return all[0]
}

func lost(a *heldturns.Attachment) bool {
	select {
	case <-a.Lost():
		return true
	default:
		return false
	}
}

// turnEvents returns the events of a request that are about its turn.
func turnEvents(t testing.TB, s approvalstest.Store, request string) (events []approvals.Event) {
	t.Helper()
	for _, e := range approvalstest.EventsOf(t, s, request) {
		if strings.HasPrefix(string(e.Type), "turn_") {
			events = append(events, e)
		}
	}
	return events
}

// faulty is a store whose writes fail once they are down: the process has died.
type faulty struct {
	heldturns.Store
	writes func(name string) error // called before each write
}

func (f faulty) Put(ctx context.Context, k heldturns.Key, snapshot []byte) (heldturns.Key, error) {
	if err := f.writes("Put"); err != nil {
		return k, err
	}
	return f.Store.Put(ctx, k, snapshot)
}

func (f faulty) End(ctx context.Context, k heldturns.Key, keep time.Duration) error {
	if err := f.writes("End"); err != nil {
		return err
	}
	return f.Store.End(ctx, k, keep)
}

func (f faulty) PutState(ctx context.Context, s heldturns.State, revision uint64) (uint64, error) {
	if err := f.writes("PutState"); err != nil {
		return 0, err
	}
	return f.Store.PutState(ctx, s, revision)
}

func (f faulty) RemoveState(ctx context.Context, id string, revision uint64) error {
	if err := f.writes("RemoveState"); err != nil {
		return err
	}
	return f.Store.RemoveState(ctx, id, revision)
}

func (f faulty) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	return appendSingly(ctx, f.Store.AppendEvents, f.writes, events)
}

func (f faulty) EnsureEvent(ctx context.Context, e approvals.Event) error {
	if err := f.writes("EnsureEvent"); err != nil {
		return err
	}
	return f.Store.EnsureEvent(ctx, e)
}

// appendSingly appends each event by a write of its own: a process may die between two events.
func appendSingly(ctx context.Context, to func(context.Context, ...approvals.Event) error, writes func(name string) error, events []approvals.Event) error {
	for _, e := range events {
		if err := writes("AppendEvents"); err != nil {
			return err
		}
		if err := to(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// faultyGate is a gate's store whose writes fail likewise.
type faultyGate struct {
	approvals.Store
	writes func(name string) error
}

func (f faultyGate) CreateRequest(ctx context.Context, r approvals.Request) (uint64, error) {
	if err := f.writes("CreateRequest"); err != nil {
		return 0, err
	}
	return f.Store.CreateRequest(ctx, r)
}

func (f faultyGate) UpdateRequest(ctx context.Context, r approvals.Request, revision uint64) (uint64, error) {
	if err := f.writes("UpdateRequest"); err != nil {
		return 0, err
	}
	return f.Store.UpdateRequest(ctx, r, revision)
}

func (f faultyGate) PublishRequest(ctx context.Context, r approvals.Request) error {
	if err := f.writes("PublishRequest"); err != nil {
		return err
	}
	return f.Store.PublishRequest(ctx, r)
}

func (f faultyGate) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	return appendSingly(ctx, f.Store.AppendEvents, f.writes, events)
}

func (f faultyGate) EnsureEvent(ctx context.Context, e approvals.Event) error {
	if err := f.writes("EnsureEvent"); err != nil {
		return err
	}
	return f.Store.EnsureEvent(ctx, e)
}
