// Package stateless is a gate and a store that keep nothing: for the canary, which must leave
// no trace in the audit log, and for benchmarks.
package stateless

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/runs"
)

// Ports has the methods of a gate and of a store of turns. It can ask no people. The zero
// value is ready for use.
type Ports struct{}

// Open fails: a request that is not stored could not be decided.
func (Ports) Open(context.Context, []approvals.Request) (*gate.Hold, error) {
	return nil, approvals.ErrStoreUnavailable
}

// TakeTurn fails: without a record it could be taken twice.
func (Ports) TakeTurn(context.Context, string, string, []byte) (bool, error) {
	return false, approvals.ErrStoreUnavailable
}

// Prepare does nothing.
func (Ports) Prepare([]approvals.Request) {}

// RunState returns that every run is running.
func (Ports) RunState(string, approvals.Principal) (approvals.RunState, time.Time) {
	return approvals.RunRunning, time.Time{}
}

// EnterRun returns nil: no run is followed.
func (Ports) EnterRun(bool, func() runs.Entry) func(approvals.Outcome) { return nil }

// AwaitResume returns nil: no run is paused.
func (Ports) AwaitResume(context.Context, string, approvals.Principal) error { return nil }

// Record records nothing.
func (Ports) Record(context.Context, ...approvals.Event) error { return nil }

// Steered returns false.
func (Ports) Steered() bool { return false }

// AwaitTurns does not wait.
func (Ports) AwaitTurns(context.Context) (known bool, err error) { return true, nil }

// AnyTurns returns false.
func (Ports) AnyTurns() bool { return false }

// HasTurns returns false.
func (Ports) HasTurns(string) bool { return false }

// Turns returns none.
func (Ports) Turns(context.Context, string) ([][]byte, error) { return nil, nil }

// PutTurn keeps nothing.
func (Ports) PutTurn(context.Context, string, string, []byte) error { return nil }

// DropTurn does nothing.
func (Ports) DropTurn(context.Context, string, string) error { return nil }

// Request knows no request.
func (Ports) Request(context.Context, string) (approvals.Request, error) {
	return approvals.Request{}, approvals.ErrUnknownRequest
}
