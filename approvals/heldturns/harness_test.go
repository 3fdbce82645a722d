package heldturns_test

import (
	"context"

	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/store"
)

// opened is a store that a test closes itself.
type opened struct{ *store.Store }

func openStore(dir string) (opened, error) {
	s, err := store.Open(context.Background(), store.Options{Dir: dir, Listen: "-"})
	return opened{s}, err
}

func (o opened) parts() approvalstest.Store {
	return approvalstest.Store{GateStore: o.ForGate(), Grants: o.Grants, Turns: o.Turns, Held: o.ForHeldTurns()}
}
