package conversation

import (
	"errors"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
)

// spender is a dialect whose requests use approvals until they know that they are used.
type spender struct {
	chat.Dialect
	spends []intercept.OneTimeApproval
}

func (d spender) Request(e intercept.Envelope) (intercept.Request, error) {
	r, err := d.Dialect.Request(e)
	return &spendingRequest{Request: r, spends: d.spends}, err
}

type spendingRequest struct {
	intercept.Request
	spends []intercept.OneTimeApproval
	known  [][]byte
}

func (r *spendingRequest) OneTimeApprovals() []intercept.OneTimeApproval { return r.spends }
func (r *spendingRequest) Splice(records [][]byte) int                   { r.known = records; return len(records) }

// A one-time approval is consumed by one request only, whatever becomes of others.
func TestOneTimeApprovals(t *testing.T) {
	d := spender{spends: []intercept.OneTimeApproval{{ID: "a", Record: []byte("a is used")}, {ID: "b", Record: []byte("b is used")}}}
	b := newBench()
	request := func() *HiddenTurns {
		r := requestTo(d, `{"model":"m","messages":[{"role":"user","content":"do it"}]}`)
		return &b.prepared(t, r).Hidden
	}
	first, second := request(), request()
	if remade, refusal := first.Consume(t.Context()); remade || refusal != nil || len(first.consumed) != 2 {
		t.Fatalf("remade %t, %v, consumed %v", remade, refusal, first.consumed)
	}
	if remade, refusal := second.Consume(t.Context()); !remade || refusal != nil || len(second.consumed) != 0 {
		t.Errorf("a second request: remade %t, %v, consumed %v", remade, refusal, second.consumed)
	}
	if known := second.conversation.Parsed.(*spendingRequest).known; len(known) != 2 || string(known[0]) != "a is used" {
		t.Errorf("it is made again with %q", known)
	}
	first.RestoreConsumed(t.Context())
	third := request()
	if remade, refusal := third.Consume(t.Context()); remade || refusal != nil {
		t.Errorf("after they were restored: remade %t, %v", remade, refusal)
	}
	third.KeepConsumed()
	third.RestoreConsumed(t.Context())
	if remade, refusal := request().Consume(t.Context()); !remade || refusal != nil {
		t.Errorf("after upstream accepted the request: remade %t, %v", remade, refusal)
	}
	b.store.failed = errors.New("down")
	if _, refusal := request().Consume(t.Context()); refusal == nil || refusal.Code != intercept.CodeStoreUnavailable {
		t.Errorf("without a store: %v", refusal)
	}
}
