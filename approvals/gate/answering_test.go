package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

// An answer does not wait for another one whose values the store does not take, after its caller has given up.
func TestPromise7_NothingHangs_AnswerBehindAnother(t *testing.T) {
	t.Parallel()
	storing, stored := make(chan struct{}), make(chan struct{})
	g := approvalstest.RunGate(t, gate.Options{
		Store: approvalstest.OpenStore(),
		Conceal: func(context.Context, *approvals.Request, *approvals.Decision) (func(context.Context, bool), error) {
			close(storing)
			<-stored
			return nil, approvals.ErrStoreUnavailable
		},
	})
	question := approvals.Request{
		Kind: approvals.KindEnvVar, Principal: approvals.Principal{Tenant: "acme", User: "ann"}, RunID: "run-1", ToolName: "request_env_var",
		Details: approvals.Details{Questions: []approvals.Question{{Kind: approvals.KindEnvVar, Fields: []approvals.QuestionField{{Name: "TOKEN", Secret: true}}}}},
	}
	h := approvalstest.Open(t, g, question, question)
	answer := func(ctx context.Context, i int) error {
		_, err := g.Decide(ctx, approvals.Decision{
			RequestID: h.Requests()[i].ID, Action: approvals.ActionAnswer, ReviewerID: "bob",
			Response: approvals.Response{Values: map[string]string{"TOKEN": "the-Value-1!"}},
		})
		return err
	}
	first := make(chan error, 1)
	go func() { first <- answer(t.Context(), 0) }()
	<-storing
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	second := make(chan error, 1)
	go func() { second <- answer(short, 1) }()
	select {
	case err := <-second:
		if !errors.Is(err, approvals.ErrStoreUnavailable) {
			t.Errorf("the second answer: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the second answer waits for the first one")
	}
	close(stored)
	if err := <-first; !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("the first answer: %v", err)
	}
}
