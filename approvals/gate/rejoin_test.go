package gate_test

import (
	"encoding/json"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

// A hold that is opened again after the decision ends, also while another decision of the request is still
// being judged.
func TestPromise7_NothingHangs_OpenedAgainDuringALateDecision(t *testing.T) {
	t.Parallel()
	judged, judging := make(chan struct{}), make(chan struct{})
	g := approvalstest.RunGate(t, gate.Options{
		Store: approvalstest.OpenStore(),
		CheckEdit: func(approvals.Request, json.RawMessage) ([]approvals.Demand, error) {
			close(judging)
			<-judged
			return nil, approvals.Invalid("modified_args", "a rule denies them")
		},
	})
	h := approvalstest.Open(t, g, approvalstest.Request("x"))
	requests := h.Requests()
	h.Detach() // the agent has left
	refused := make(chan error, 1)
	go func() {
		_, err := g.Decide(t.Context(), approvals.Decision{
			RequestID: requests[0].ID, Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{"path":"y"}`), ReviewerID: "carol",
		})
		refused <- err
	}()
	<-judging
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: requests[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil {
		t.Fatal(err)
	}
	again := approvalstest.Open(t, g, requests...)
	close(judged)
	if err := <-refused; err == nil {
		t.Error("the edit is not refused")
	}
	approvalstest.Await(t, again.Done(), "the hold that was opened again")
	if r := again.Requests()[0]; r.Status != approvals.StatusApproved {
		t.Errorf("the status is %s", r.Status)
	}
}
