package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/proxy/trace"
)

const (
	cancelTimeout = 5 * time.Second  // to cancel the requests of an agent that has disconnected
	openTimeout   = 45 * time.Second // to record requests before anybody is asked: longer than a cluster elects leaders
)

// open records the requests and asks people.
func (r *review) open(ctx context.Context) error {
	requests := r.requests
	r.requests = nil
	hold, err := r.engine.Gate.Open(ctx, requests)
	if err != nil {
		return err
	}
	r.hold, r.parking = hold, parkedAt(r.asked, &r.engine.Limits, r.conversation.Request, time.Now())
	for _, q := range hold.Requests() {
		if q.TurnID == r.conversation.Request.Turn { // else the call was parked: its approval stays valid
			r.unsettled = append(r.unsettled, q.ID)
		}
	}
	if err := r.checkRequests(hold.Requests()); err != nil {
		return err
	}
	if r.engine.Held != nil {
		r.engine.Held()
	}
	if r.spans != nil {
		calls := make([]intercept.Call, 0, len(r.asked))
		for _, j := range r.asked {
			calls = append(calls, j.call)
		}
		r.spans.Asked(hold.Requests(), calls)
	}
	return nil
}

// leavePending leaves the requests with the reviewers because heldcall stops.
func (r *review) leavePending() {
	r.spans.Abandoned(trace.LeftPending, "")
	r.hold.Detach()
	r.hold = nil
}

// cancel cancels the requests that are undecided.
func (r *review) cancel(ctx context.Context, reason string) {
	r.spans.Abandoned(string(approvals.StatusCancelled), reason)
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer stop()
	if err := r.hold.Cancel(ctx, reason); err != nil {
		r.engine.Log.Error("failed to cancel the requests of an agent that has disconnected", "turn", r.conversation.Request.Turn, "reason", reason, "error", err)
		r.engine.metrics.storeError("cancel")
	}
	r.hold.Detach()
	r.hold = nil
	for range r.asked {
		r.engine.metrics.outcome(approvals.OutcomeCancelled)
	}
	r.outcome = approvals.OutcomeCancelled
}

// decide turns what people decided into rulings.
func (r *review) decide() error {
	hold := r.hold
	r.hold = nil
	if err := hold.Err(); err != nil {
		return err
	}
	requests := hold.Requests()
	for i := range requests {
		if err := cancelled(&requests[i]); err != nil && !errors.Is(err, approvals.ErrRunAborted) {
			return err
		}
	}
	r.rule(requests)
	return nil
}

// errCancelled ends a turn with a cancelled request whose run was not aborted.
var errCancelled = errors.New("a request of the turn was cancelled")

// rule makes rulings of the states of the requests. Calls that people have not decided on
// are parked.
func (r *review) rule(requests []approvals.Request) {
	rules := r.rules()
	r.spans.Answered(requests)
	for i, j := range r.asked {
		j.request = &requests[i]
		r.decideCall(j, rules)
	}
	for _, j := range r.calls {
		if j.twin != nil {
			j.request = j.twin.request
			r.decideCall(j, rules)
		}
	}
	for _, j := range r.asked {
		if j.ruling.Action == intercept.Abort {
			d, _ := j.decision()
			r.abort(d.Note)
			break
		}
	}
}

// decideCall makes a ruling of the final state of one request.
func (r *review) decideCall(j *judgedCall, rules Judge) {
	d, _ := j.decision()
	if d.DecidedAt.After(r.decided) {
		r.decided = d.DecidedAt
	}
	ended := j.request.Status.Final() && j.request.Status != approvals.StatusCancelled
	if j.request.Status == approvals.StatusAnswered || (j.request.Asks() && ended) {
		j.answered()
		j.ruling.Free = j.ruling.Action == intercept.Answered && (!j.request.Asks() || r.forcesQuestions())
		return
	}
	switch j.request.Status {
	case approvals.StatusApproved:
		r.approved(j, d, rules)
	case approvals.StatusDenied:
		if d.ReviewerID == approvals.ReviewerPolicy {
			j.deny(approvals.OutcomeDeniedByRule, "", notice.DeniedByRule(j.call.Name, d.Note))
			return
		}
		j.deny(approvals.OutcomeDeniedByPerson, d.Note, notice.DeniedByPerson(j.call.Name, d.Note))
		if d.Action == approvals.ActionAbortRun {
			j.rule(intercept.Abort, approvals.OutcomeAborted, notice.RunAborted(d.Note))
		}
	case approvals.StatusPending:
		j.park()
	case approvals.StatusExpired:
		j.deny(approvals.OutcomeExpired, "", notice.NobodyAnswered(j.call.Name))
	default:
		j.rule(intercept.Abort, approvals.OutcomeAborted, notice.RunAborted(d.Note))
	}
}

// approved releases a call that people approved. Rules may be newer than the request, so
// the call is judged again; an edit was judged before the reviewer was answered.
func (r *review) approved(j *judgedCall, d approvals.Decision, rules Judge) {
	if d.Action == approvals.ActionModifyArgs {
		j.rule(intercept.Edit, approvals.OutcomeModified, notice.ArgumentsChanged(j.call.Name, d.Note))
		j.ruling.Arguments = judge.ArgumentsText(d.ModifiedArgs)
		return
	}
	if v := rules.Verdict(originOf(r.conversation), j.shown()); v.Action == policy.Deny {
		j.rule(intercept.Deny, approvals.OutcomeDeniedByRule, notice.DeniedByRule(j.call.Name, v.Reason))
		return
	}
	j.release(d)
}

// judge judges the calls of the complete answer.
func (t *Turn) judge() State {
	t.review.begin()
	t.conversation.Results.Record(t.output.answer)
	calls := t.output.answer.Calls()
	if len(calls) == 0 {
		return Settling
	}
	if slices.ContainsFunc(calls, t.exchange.HasKey) {
		return t.output.fail(errHasKey())
	}
	t.enterRun(true)
	return onOwnStack(func() State {
		if refusal := t.review.judgeCalls(t.ctx, calls, t.output.answer); refusal != nil {
			return t.output.fail(refusal)
		}
		if len(t.review.requests) == 0 {
			return Settling
		}
		return Asking
	})
}

// openingPlace waits until requests of the turn may be recorded, within ctx. done ends that. An
// agent that disconnects during a write is noticed after it: requests are recorded and
// cancelled, not half recorded.
func (t *Turn) openingPlace() (ctx context.Context, done func(), err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), openTimeout)
	select {
	case t.engine.opening <- struct{}{}:
		return ctx, func() { <-t.engine.opening; cancel() }, nil
	case <-ctx.Done():
		return ctx, cancel, ctx.Err()
	}
}

// ask waits until it may record the requests, and asks people: a burst of holds is
// recorded by a few turns at a time, which bounds the memory that it needs.
func (t *Turn) ask() State {
	recording, refusal := reserve(t.review.requests, t.output.agent.Reserve)
	if refusal != nil {
		return t.output.fail(refusal)
	}
	t.exchange.Kept.Pack() // it may wait for its place
	err := whileBeating(&t.output, func() error { return onOwnStack(t.openHold) })
	switch {
	case err != nil:
		return t.output.storeFailed("open", err)
	case t.review.hold != nil:
		t.stored.opened(t.review.hold.Requests())
		t.output.answer.Shrink()
		t.output.agent.Return(recording - recording/bytesRecording*bytesWaiting)
		t.output.returnKept()
		t.output.record(outcomeHeld)
		return Waiting
	case t.engine.stops():
		return t.output.shutDown() // the agent's next request asks
	}
	return t.disconnected()
}

// openHold stores the turn, records its requests and asks people; not if heldcall stops or the
// agent has disconnected.
func (t *Turn) openHold() error {
	ctx, done, err := t.openingPlace()
	defer done()
	if err != nil {
		return err
	}
	if err := t.review.joinRestarted(ctx, t.exchange.Upstream.ID()); err != nil {
		return err
	}
	t.engine.Gate.Prepare(t.review.requests)
	if err := t.stored.keep(ctx); err != nil || t.leaving() {
		return err
	}
	return t.review.open(ctx)
}

// leaving reports whether nobody waits for the answer any more: heldcall stops, or the agent has
// disconnected.
func (t *Turn) leaving() bool { return t.engine.stops() || t.ctx.Err() != nil }

// wait waits until people have decided, a heartbeat is due, the agent disconnects, or
// heldcall stops.
func (t *Turn) wait() State {
	select {
	case <-t.review.hold.Done():
		return Deciding
	case <-t.stored.taken():
		return t.stored.leave()
	case <-t.engine.draining.Done():
		t.review.leavePending()
		return t.output.shutDown()
	case <-t.ctx.Done():
		return t.disconnected()
	case <-time.After(t.review.parking.Within(time.Until(t.output.heartbeatAt()))):
		if t.review.parking.Due() {
			return Parking
		}
		return t.heartbeat()
	}
}

// decide turns what people decided into rulings.
func (t *Turn) decide() State {
	if err := t.review.decide(); err != nil {
		state := t.output.fail(t.conversation.StoreError(err))
		if errors.Is(err, errCancelled) {
			t.review.otherCancelled = true
			t.stored.again = false // the agent's next request is a turn of its own
		}
		return state
	}
	return Settling
}
