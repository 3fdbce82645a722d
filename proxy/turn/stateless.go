package turn

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/runs"
)

// Stateless is a [Gate] and a [Store] that keep nothing: for the canary, which must leave no trace
// in the audit log, and for benchmarks. It can ask no people. The zero value is ready for use.
type Stateless struct{}

// Open fails: a request that is not stored could not be decided.
func (Stateless) Open(context.Context, []approvals.Request) (*gate.Hold, error) {
	return nil, approvals.ErrStoreUnavailable
}

// TakeTurn fails: without a record it could be taken twice.
func (Stateless) TakeTurn(context.Context, string, string, []byte) (bool, error) {
	return false, approvals.ErrStoreUnavailable
}

// Prepare does nothing.
func (Stateless) Prepare([]approvals.Request) {}

// RunState returns that every run is running.
func (Stateless) RunState(string, approvals.Principal) (approvals.RunState, time.Time) {
	return approvals.RunRunning, time.Time{}
}

// EnterRun returns nil: no run is followed.
func (Stateless) EnterRun(bool, func() runs.Entry) func(approvals.Outcome) { return nil }

// Cancel knows no request.
func (Stateless) Cancel(context.Context, string, string) error { return approvals.ErrUnknownRequest }

// AwaitResume returns nil: no run is paused.
func (Stateless) AwaitResume(context.Context, string, approvals.Principal) error { return nil }

// Record records nothing.
func (Stateless) Record(context.Context, ...approvals.Event) error { return nil }

// Steered returns false.
func (Stateless) Steered() bool { return false }

// AwaitTurns does not wait.
func (Stateless) AwaitTurns(context.Context) (known bool, err error) { return true, nil }

// AnyTurns returns false.
func (Stateless) AnyTurns() bool { return false }

// HasTurns returns false.
func (Stateless) HasTurns(string) bool { return false }

// Turns returns none.
func (Stateless) Turns(context.Context, string) ([][]byte, error) { return nil, nil }

// PutTurn keeps nothing.
func (Stateless) PutTurn(context.Context, string, string, []byte) error { return nil }

// DropTurn does nothing.
func (Stateless) DropTurn(context.Context, string, string) error { return nil }

// Request knows no request.
func (Stateless) Request(context.Context, string) (approvals.Request, error) {
	return approvals.Request{}, approvals.ErrUnknownRequest
}
