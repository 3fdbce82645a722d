package app_test

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"golang.org/x/sync/errgroup"
)

// More calls are held at once than are recorded at a time: each is recorded, waits,
// and is released by its own decision.
func TestPromise7_NothingHangs_ManyHoldsAtOnce(t *testing.T) {
	const holds = 150
	w := build(t, askAll, callThenText)
	calls := make([]*call, holds)
	for i := range calls {
		calls[i] = w.post("/v1/chat/completions", streamedRequest)
	}
	var ids []string
	for deadline := time.Now().Add(soon); len(ids) < holds; {
		page, err := w.console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending, Limit: 2 * holds})
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%d of %d calls are pending requests (%v)", len(ids), holds, err)
		}
		ids = ids[:0]
		for _, r := range page.Items {
			ids = append(ids, r.ID)
		}
	}
	var deciders errgroup.Group
	deciders.SetLimit(8)
	for _, id := range ids {
		deciders.Go(func() error {
			_, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove})
			return err
		})
	}
	if err := deciders.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		if answer := c.rest(); leaks(answer) == "" {
			t.Fatalf("the approved call %d is not in its answer: %q", i, answer)
		}
	}
}
