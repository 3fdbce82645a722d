package heldturns_test

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/store"
)

// opened is a store that a test closes itself.
type opened struct{ *store.Store }

func openStore(dir string) (opened, error) {
	s, err := store.Open(context.Background(), store.Options{Dir: dir, Listen: "-"})
	return opened{s}, err
}

func (o opened) parts() approvalstest.Store {
	return approvalstest.Store{GateStore: o.ForGate(), Grants: o.Grants, Turns: o.Turns, Held: o.ForHeldTurns(), Log: o.Events}
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
	if err := f.writes("AppendEvents"); err != nil {
		return err
	}
	return f.Store.AppendEvents(ctx, events...)
}

func (f faulty) EnsureEvent(ctx context.Context, e approvals.Event) error {
	if err := f.writes("EnsureEvent"); err != nil {
		return err
	}
	return f.Store.EnsureEvent(ctx, e)
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
	if err := f.writes("AppendEvents"); err != nil {
		return err
	}
	return f.Store.AppendEvents(ctx, events...)
}

func (f faultyGate) EnsureEvent(ctx context.Context, e approvals.Event) error {
	if err := f.writes("EnsureEvent"); err != nil {
		return err
	}
	return f.Store.EnsureEvent(ctx, e)
}
