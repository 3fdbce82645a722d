package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// settle makes the rulings take effect. What follows from them is recorded before a byte
// of it leaves.
func (t *Turn) settle() State {
	began := time.Now()
	if t.review.checkRun() {
		return Paused
	}
	switch err := t.confirm(); {
	case errors.Is(err, approvals.ErrTaken):
		return t.stored.leave()
	case err != nil:
		return t.output.storeFailed("record", err)
	}
	t.stored.released = time.Now().UTC()
	if t.continues() && t.conversation.ContinuedElsewhere(t.ctx, t.output.answer.Kept()) {
		return Following
	}
	t.review.insertSecrets()
	t.review.endAfterDenials()
	rulings := t.review.rulings()
	settled, err := t.output.answer.Resolve(rulings)
	if err != nil {
		return t.output.fail(intercept.NotProcessed(err))
	}
	refusal := t.hosted.JudgeRestated(t.ctx, settled.Next)
	if refusal != nil { // the model gets no continuation, and the rulings stay
		settled.Next = nil
	}
	err = t.record(settled)
	t.review.traceDecided(began, err)
	if err != nil {
		if t.ctx.Err() != nil {
			return t.output.gone()
		}
		return t.output.storeFailed("record", err)
	}
	if refusal == nil {
		t.review.leave(t.review.calls)
		t.conversation.Results.Released(approvedAmong(t.review.calls)...)
		t.review.notReleased()
		t.review.unsettled = nil
	}
	t.output.record(t.review.count())
	t.review.keepCharges()
	t.exchange.Kept.Rule(rulings)
	t.engine.metrics.overhead.Observe(time.Since(began).Seconds())
	switch {
	case refusal != nil:
		return t.output.fail(refusal)
	case settled.Next == nil:
		return t.output.finish(settled.Bytes)
	}
	t.engine.metrics.continuations.Inc()
	if !t.output.emit(t.exchange.Upstream.Redact(settled.Bytes)) {
		return t.output.gone()
	}
	if refusal := t.next(*settled.Next); refusal != nil {
		return t.output.fail(refusal)
	}
	return Sending
}

// confirm confirms the stored turn, if there is one: see [stored.confirm].
func (t *Turn) confirm() error {
	if t.stored.attachment == nil {
		return nil
	}
	return whileBeating(&t.output, t.stored.confirm)
}

// record records what an answer has led to: see [review.record]. It only waits for the store where
// there were calls, or where the provider may refer to the answer.
func (t *Turn) record(settled intercept.Resolution) error {
	record := func() error { return t.review.record(t.ctx, settled, t.exchange.Count, &t.stored) }
	if len(t.review.calls)+len(settled.Hidden)+len(settled.Refers) == 0 {
		return record()
	}
	t.output.rendered = true
	defer func() { t.output.rendered = false }()
	return whileBeating(&t.output, record)
}

// continues reports whether the model may continue the answer: the agent gets none of its calls,
// also not of those that an earlier request for the answer had decided.
func (t *Turn) continues() bool {
	reaches := func(a intercept.Action) bool {
		return a == intercept.Release || a == intercept.Edit || a == intercept.Abort
	}
	recalled := t.output.answer.Recalled()
	return len(t.review.calls)+len(recalled) > 0 &&
		!slices.ContainsFunc(t.review.calls, func(j *judgedCall) bool { return reaches(j.ruling.Action) }) &&
		!slices.ContainsFunc(recalled, func(r intercept.Ruling) bool { return reaches(r.Action) })
}

// followLook is the time between two looks whether a stored answer was continued.
const followLook = 200 * time.Millisecond

// follow waits until another turn has continued the stored answer, or has taken too long to do so.
func (t *Turn) follow() State {
	select {
	case <-t.ctx.Done():
		return t.disconnected()
	case <-t.stored.taken():
		return t.stored.leave()
	case <-t.engine.draining.Done():
		return t.output.shutDown()
	case <-time.After(min(followLook, time.Until(t.output.heartbeatAt()))):
	}
	if !time.Now().Before(t.output.heartbeatAt()) && !t.output.beat() {
		return t.disconnected()
	}
	return Settling
}

// checkRun looks once more whether the run may continue, before anything of it leaves. It
// aborts the calls of a run that was stopped, and reports a run that is paused.
func (r *review) checkRun() (paused bool) {
	c := r.conversation
	if c.Deletes() {
		return false
	}
	state := c.RunState()
	aborted := func(j *judgedCall) bool { return j.ruling.Action == intercept.Abort }
	if state == approvals.RunAborted && !slices.ContainsFunc(r.calls, aborted) { // else by a decision, with its note
		r.abort("")
	}
	return state == approvals.RunPaused
}

// awaitResume waits until the paused run continues, or a heartbeat is due.
func (t *Turn) awaitResume() State {
	ctx, cancel := context.WithDeadline(t.ctx, t.output.heartbeatAt())
	defer cancel()
	defer context.AfterFunc(t.engine.draining, cancel)()
	who := t.conversation.Identity()
	err := t.engine.Gate.AwaitResume(ctx, who.Run, who.Principal)
	switch {
	case err == nil, errors.Is(err, approvals.ErrRunAborted):
		return Settling
	case t.ctx.Err() != nil:
		return t.disconnected()
	case t.stored.lost():
		return t.stored.leave()
	case t.engine.draining.Err() != nil:
		return t.output.shutDown()
	}
	return t.heartbeat()
}
