package turn

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
)

// Stateless is a [Gate] and a [Store] that keep nothing: for the canary, which must leave
// no trace in the audit log, and for benchmarks. It can ask no people.
var Stateless stateless

type stateless struct{}

func (stateless) Open(context.Context, []approvals.Request) (*gate.Hold, error) {
	return nil, approvals.ErrStoreUnavailable // a request that is not stored could not be decided
}

func (stateless) TakeTurn(context.Context, string, string, []byte) (bool, error) {
	return false, approvals.ErrStoreUnavailable // without a record it could be taken twice
}

func (stateless) Prepare([]approvals.Request) {}

func (stateless) RunState(string, approvals.Principal) (approvals.RunState, time.Time) {
	return approvals.RunRunning, time.Time{}
}

func (stateless) EnterRun(bool, func() gate.Entry) func(approvals.Outcome) { return nil }

func (stateless) AwaitResume(context.Context, string, approvals.Principal) error { return nil }

func (stateless) Record(context.Context, ...approvals.Event) error      { return nil }
func (stateless) Steered() bool                                         { return false }
func (stateless) AnyTurns() bool                                        { return false }
func (stateless) HasTurns(string) bool                                  { return false }
func (stateless) Turns(context.Context, string) ([][]byte, error)       { return nil, nil }
func (stateless) PutTurn(context.Context, string, string, []byte) error { return nil }
func (stateless) DropTurn(context.Context, string, string) error        { return nil }

func (stateless) Request(context.Context, string) (approvals.Request, error) {
	return approvals.Request{}, approvals.ErrUnknownRequest
}
