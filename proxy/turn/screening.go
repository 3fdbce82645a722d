package turn

import (
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// askResults asks people about results, as [Turn.ask] does about calls.
func (t *Turn) askResults() State {
	requests := t.results.Requests()
	t.enterRun(true)
	if _, refusal := reserve(requests, t.output.agent.Reserve); refusal != nil {
		return t.output.fail(refusal)
	}
	ctx, done, err := t.openingPlace()
	defer done()
	if err != nil {
		return t.output.storeFailed("open", err)
	}
	return onOwnStack(func() State {
		t.engine.Gate.Prepare(requests)
		if refusal := t.results.Opening(ctx); refusal != nil {
			return t.output.fail(refusal)
		}
		switch {
		case t.engine.stops():
			return t.output.shutDown()
		case t.ctx.Err() != nil:
			return t.disconnected()
		}
		hold, err := t.engine.Gate.Open(ctx, requests)
		if err != nil {
			return t.output.storeFailed("open", err)
		}
		t.screening = hold
		if t.engine.Held != nil {
			t.engine.Held()
		}
		t.output.record(outcomeHeld)
		return Screening
	})
}

// screen waits until people have decided about the results, a heartbeat is due, the agent
// disconnects, or heldcall stops. Undecided requests stay with the reviewers: the
// agent's next request finds them.
func (t *Turn) screen() State {
	select {
	case <-t.screening.Done():
		return t.screened()
	case <-t.engine.draining.Done():
		return t.output.shutDown()
	case <-t.ctx.Done():
		return t.disconnected()
	case <-t.output.due():
		if !t.request.Silent && !t.output.agent.Started() {
			t.output.await()
		}
		return t.heartbeat()
	}
}

// await begins an answer of which upstream has sent nothing yet.
func (o *output) await() {
	streamed := o.conversation.Info().Streamed
	contentType := "application/json"
	if streamed {
		contentType = "text/event-stream; charset=utf-8"
	}
	o.agent.Head().AddBytesKV([]byte("Content-Type"), []byte(contentType))
	o.answer.Await(streamed)
}

// screened does what people have decided about the results.
func (t *Turn) screened() State {
	requests, err := t.screening.Requests(), t.screening.Err()
	t.screening = nil
	for i := range requests {
		if err == nil {
			err = cancelled(&requests[i])
		}
	}
	if err != nil {
		return t.output.fail(t.conversation.StoreError(err))
	}
	refusal := whileBeating(&t.output, func() *intercept.Error { return t.results.Decide(t.ctx, requests) })
	if refusal != nil {
		return t.output.fail(refusal)
	}
	if refusal := t.next(t.conversation.Parsed.Envelope()); refusal != nil {
		return t.output.fail(refusal)
	}
	return Preparing
}

// cancelled is the error for a request that was cancelled.
func cancelled(q *approvals.Request) error {
	switch why := q.Details.CancelReason; {
	case q.Status != approvals.StatusCancelled:
		return nil
	case why == approvals.CancelRunAborted:
		return approvals.ErrRunAborted
	default:
		return fmt.Errorf("%w: request %s: %s", errCancelled, q.ID, why)
	}
}
