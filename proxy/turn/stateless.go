package turn

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
)

// Stateless is a [Gate] and a [Store] that keep nothing: for the canary, which must leave
// no trace in the audit log, and for benchmarks. People cannot be asked by it.
type Stateless struct{}

// Open fails: a request that is not kept could not be decided.
func (Stateless) Open(context.Context, []approvals.Request) (*gate.Hold, error) {
	return nil, approvals.ErrStoreUnavailable
}

// Record keeps nothing.
func (Stateless) Record(context.Context, ...approvals.Event) error { return nil }

// RunState returns that of a run that was never steered.
func (Stateless) RunState(string) approvals.RunState { return approvals.RunRunning }

// LookUp finds no run.
func (Stateless) LookUp(string) (approvals.Run, bool) { return approvals.Run{}, false }

// Steered returns false.
func (Stateless) Steered() bool { return false }

// AwaitResume returns at once.
func (Stateless) AwaitResume(context.Context, string) error { return nil }

// AnyTurns returns false.
func (Stateless) AnyTurns() bool { return false }

// HasTurns returns false.
func (Stateless) HasTurns(string) bool { return false }

// Turns returns nothing.
func (Stateless) Turns(context.Context, string) ([][]byte, error) { return nil, nil }

// PutTurn keeps nothing.
func (Stateless) PutTurn(context.Context, string, string, []byte) error { return nil }

// TakeTurn fails: without a record it could be taken twice.
func (Stateless) TakeTurn(context.Context, string, string, []byte) (bool, error) {
	return false, approvals.ErrStoreUnavailable
}

// DropTurn does nothing.
func (Stateless) DropTurn(context.Context, string, string) error { return nil }
