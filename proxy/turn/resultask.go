package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/ownstack"
)

// maxAskedResult is the largest text of a result that people are asked about, in bytes. A
// larger one is denied.
const maxAskedResult = 256 << 10

// askedResult is a result about which people are asked, perhaps contained several times.
type askedResult struct {
	judgedResult
	again []judgedResult
}

// decision returns what was decided about a result in an earlier request. ok is false for one
// that is not decided; its request is then open, or nil.
func (r *results) decision(ctx context.Context, j *judgedResult) (model *conversation.Replacement, ok bool, open *approvals.Request, refusal *intercept.Error) {
	t := r.turn
	key := t.conversation.Judged.ReviewKey(j.id())
	if decided, known := t.engine.reviewed.Get(key, sizeOfReplacement); known {
		return decided, true, nil, nil
	}
	records, refusal := t.conversation.Judged.Reviewed(ctx)
	record, known := records[j.id()]
	switch {
	case refusal != nil || !known:
		return nil, false, nil, refusal
	case record.Decided:
		t.engine.reviewed.Put(key, record.Model, sizeOfReplacement(record.Model))
		return record.Model, true, nil, nil
	}
	q, err := t.conversation.Judged.Request(ctx, record.Request)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest), err == nil && q.Status == approvals.StatusCancelled:
		return nil, false, nil, nil
	case err != nil:
		return nil, false, nil, t.conversation.StoreError(err)
	case !q.Status.Final():
		return nil, false, &q, nil
	}
	model, refusal = r.decided(ctx, j, &q)
	return model, true, nil, refusal
}

// sizeOfReplacement is the number of bytes of its texts.
func sizeOfReplacement(one *conversation.Replacement) (n int) {
	if one == nil {
		return 0
	}
	n = len(one.Denied)
	for _, text := range one.Texts {
		n += len(text)
	}
	return n
}

// ask finds what was decided about a result before, or prepares to ask people about it.
func (r *results) ask(ctx context.Context, j *judgedResult) *intercept.Error {
	for _, earlier := range r.asked {
		if earlier.key == j.key {
			earlier.again = append(earlier.again, *j)
			return nil
		}
	}
	call, known := r.turn.conversation.Judged.Call(j.index)
	if len(j.text()) > maxAskedResult {
		reason := "It is too large for a reviewer to read."
		r.replace(j, &conversation.Replacement{Denied: intercept.ResultDeniedByRule(call.Name, reason)})
		r.record(j, approvals.Event{Type: approvals.EventResultDenied, Outcome: string(approvals.OutcomeDeniedByRule), Note: reason})
		return nil
	}
	model, ok, open, refusal := r.decision(ctx, j)
	switch {
	case refusal != nil:
		return refusal
	case ok:
		r.follow(j, model, call, known)
		return nil
	case open == nil:
		open = new(r.newRequest(j))
	}
	r.asked, r.requests = append(r.asked, &askedResult{judgedResult: *j}), append(r.requests, *open)
	return nil
}

// follow does what was decided about a result.
func (r *results) follow(j *judgedResult, model *conversation.Replacement, call intercept.Call, known bool) {
	r.replace(j, model)
	if model == nil || model.Denied == "" {
		r.taintBy(j, call, known)
	}
}

// decided makes durable what people have decided about a result.
func (r *results) decided(ctx context.Context, j *judgedResult, q *approvals.Request) (*conversation.Replacement, *intercept.Error) {
	d, _ := q.FinalDecision()
	e := approvals.Event{Type: approvals.EventResultDenied, RequestID: q.ID, ReviewerID: d.ReviewerID, Channel: d.Channel, Action: d.Action, Note: d.Note}
	var model *conversation.Replacement
	switch {
	case q.Status == approvals.StatusExpired:
		model = &conversation.Replacement{Denied: intercept.ResultNotReviewed(q.ToolName)}
		e.Outcome = string(approvals.OutcomeExpired)
	case q.Status != approvals.StatusApproved:
		model = &conversation.Replacement{Denied: intercept.ResultDeniedByPerson(q.ToolName, d.Note)}
		e.Outcome = string(approvals.OutcomeDeniedByPerson)
	case d.Action == approvals.ActionModifyArgs:
		model = j.edited(judge.ArgumentsText(d.ModifiedArgs))
		e.Type, e.Outcome = approvals.EventResultRedacted, string(approvals.OutcomeModified)
	}
	if model != nil {
		r.record(j, e)
	} else if j.verdict.Redacted != nil {
		e.Type, e.Outcome, e.Note = approvals.EventResultRedacted, string(approvals.OutcomeAllowedByPerson), j.verdict.Reason
		r.record(j, e)
	}
	judged := &r.turn.conversation.Judged
	if refusal := judged.Review(ctx, conversation.ReviewedResult{Key: j.id(), Request: q.ID, Decided: true, Model: model}); refusal != nil {
		return nil, refusal
	}
	r.turn.engine.reviewed.Put(judged.ReviewKey(j.id()), model, sizeOfReplacement(model))
	return model, nil
}

// askResults asks people about results, as [Turn.ask] does about calls.
func askResults(t *Turn) State {
	r := &t.results
	t.enterRun(true)
	if refusal := reserve(r.requests, t.output.agent); refusal != nil {
		return t.output.fail(refusal)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), openTimeout)
	defer cancel()
	select {
	case t.engine.opening <- struct{}{}:
		defer func() { <-t.engine.opening }()
	case <-ctx.Done():
		return t.output.storeFailed("open", ctx.Err())
	}
	return ownstack.Run(func() State {
		t.engine.Gate.Prepare(r.requests)
		for i, j := range r.asked { // first, so that the agent's next request finds them
			if refusal := t.conversation.Judged.Review(ctx, conversation.ReviewedResult{Key: j.id(), Request: r.requests[i].ID}); refusal != nil {
				return t.output.fail(refusal)
			}
		}
		switch {
		case t.engine.stops():
			return t.output.shutDown()
		case t.ctx.Err() != nil:
			return t.disconnected()
		}
		hold, err := t.engine.Gate.Open(ctx, r.requests)
		if err != nil {
			return t.output.storeFailed("open", err)
		}
		r.hold = hold
		if t.engine.Held != nil {
			t.engine.Held()
		}
		t.output.record(outcomeHeld)
		return Screening
	})
}

// screen waits one keep-alive period, or less: until people have decided about the results,
// the agent disconnects, or heldcall stops. Undecided requests stay with the reviewers: the
// agent's next request finds them.
func screen(t *Turn) State {
	tick := time.NewTimer(t.engine.Limits.Keepalive)
	defer tick.Stop()
	select {
	case <-t.results.hold.Done():
		return t.results.decide()
	case <-t.engine.draining.Done():
		return t.output.shutDown()
	case <-t.ctx.Done():
		return t.disconnected()
	case <-tick.C:
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

// decide does what people have decided about the results.
func (r *results) decide() State {
	t := r.turn
	requests, err := r.hold.Requests(), r.hold.Err()
	if err != nil {
		return t.output.fail(t.conversation.StoreError(err))
	}
	r.hold = nil
	for i, asked := range r.asked {
		q := &requests[i]
		if why := q.Details.CancelReason; q.Status == approvals.StatusCancelled {
			if why == approvals.CancelRunAborted {
				return t.output.fail(t.conversation.StoreError(approvals.ErrRunAborted))
			}
			return t.output.fail(t.conversation.StoreError(fmt.Errorf("%w: request %s: %s", errCancelled, q.ID, why)))
		}
		model, refusal := r.decided(t.ctx, &asked.judgedResult, q)
		if refusal != nil {
			return t.output.fail(refusal)
		}
		call, known := t.conversation.Judged.Call(asked.index)
		for _, one := range append(asked.again, asked.judgedResult) {
			r.follow(&one, model, call, known)
		}
	}
	if refusal := r.settle(t.ctx); refusal != nil {
		return t.output.fail(refusal)
	}
	return Preparing
}

// release ends the wait, and restores what a request that was not sent has consumed.
func (r *results) release() {
	if r.hold != nil {
		r.hold.Detach()
		r.hold = nil
	}
	if !r.settled && len(r.asked) > 0 {
		r.turn.conversation.Hidden.RestoreConsumed(context.WithoutCancel(r.turn.ctx))
	}
}
