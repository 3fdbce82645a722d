package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/agentconn"
)

// cancelFor bounds the cancellation of requests whose agent has left.
const cancelFor = 5 * time.Second

// maxOpening is how many holds are recorded at the same time, as many as the store
// writes at once.
const maxOpening = 128

// openFor bounds the recording of requests before anybody is asked.
const openFor = 15 * time.Second

const (
	// maxAsked bounds what is asked about one answer: bytes of its requests, each of
	// which is recorded, published and shown many times.
	maxAsked = 8 << 20
	// askedCost is about how many bytes of memory a byte of a request takes while it
	// is recorded.
	askedCost = 8
)

// ask waits for its turn to put the questions to people: what a burst of holds
// needs to be recorded is needed by a few of them at a time.
func (x *exchange) ask(requests []approvals.Request) state {
	return func(x *exchange) state {
		if e := x.admitAsked(requests); e != nil {
			return x.fail(e)
		}
		// An agent that leaves meanwhile is noticed in wait: what was asked is then
		// recorded and cancelled, not half recorded.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), openFor)
		defer cancel()
		select {
		case x.p.opening <- struct{}{}:
			defer func() { <-x.p.opening }()
		case <-ctx.Done():
			return x.unasked(ctx.Err())
		}
		return apart(func(x *exchange) state { return x.open(ctx, requests) })(x)
	}
}

// admitAsked reserves memory for requests that are about to be recorded. The error
// refuses the answer.
func (x *exchange) admitAsked(requests []approvals.Request) *intercept.Error {
	size := 0
	for i := range requests {
		size += requests[i].Size()
	}
	if size > maxAsked {
		return &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: fmt.Sprintf("its calls need %d bytes to be shown to reviewers, the limit is %d; none of it is released", size, maxAsked)}
	}
	conn, ok := x.fasthttp.Conn().(*agentconn.Conn)
	if ok && size > smallBody && !conn.ReserveMemory(size*askedCost) {
		return errOverloaded
	}
	return nil
}

// open records the questions, and tells people of them.
func (x *exchange) open(ctx context.Context, requests []approvals.Request) state {
	hold, err := x.p.options.Gate.Open(ctx, requests)
	if err != nil {
		return x.unasked(err)
	}
	x.docket.hold, x.docket.since = hold, time.Now()
	x.answer.Shrink()
	x.p.rest.held()
	x.outcome = "held"
	x.spans.asked(&x.docket)
	return (*exchange).wait
}

// unasked ends an exchange whose questions could not be recorded.
func (x *exchange) unasked(err error) state {
	x.p.metrics.storeErrors.WithLabelValues("open").Inc()
	return x.fail(x.storeError(err))
}

// wait lets one keep-alive period pass, or less: until people have decided, the
// agent leaves, or heldcall stops.
func (x *exchange) wait() state {
	tick := time.NewTimer(x.p.options.Keepalive)
	defer tick.Stop()
	select {
	case <-x.docket.hold.Done():
		return (*exchange).decided
	case <-x.p.draining:
		x.spans.abandoned(leftPending, "")
		x.detach()
		return x.shutDown()
	case <-x.ctx.Done():
		return x.leave()
	case <-tick.C:
		return x.beat((*exchange).wait)
	}
}

// beat sends a heartbeat, and the answer's head before the first one.
func (x *exchange) beat(then state) state {
	if x.p.options.Heartbeat == HeartbeatOff {
		return then
	}
	if x.emit(x.answer.Heartbeat(x.pulse)) {
		return then
	}
	return x.lost()
}

// lost ends the exchange of an agent that cannot be written to.
func (x *exchange) lost() state {
	if x.docket.hold != nil {
		return x.leave()
	}
	return x.gone()
}

// leave ends the hold of an agent that has gone. What was asked is cancelled;
// at shutdown it stays with the reviewers.
func (x *exchange) leave() state {
	if errors.Is(context.Cause(x.ctx), errShuttingDown) {
		x.spans.abandoned(leftPending, "")
		x.detach()
	} else {
		x.giveUp(approvals.CancelAgentGone)
	}
	return x.gone()
}

// detach leaves what was asked with the reviewers.
func (x *exchange) detach() {
	x.docket.hold.Detach()
	x.docket.hold = nil
}

// giveUp cancels what was asked.
func (x *exchange) giveUp(reason string) {
	x.spans.abandoned(string(approvals.StatusCancelled), reason)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), cancelFor)
	defer cancel()
	if err := x.docket.hold.Cancel(ctx, reason); err != nil {
		x.p.log.Error("cannot cancel the pending requests of an agent that has left", "turn", x.turn, "reason", reason, "error", err)
		x.p.metrics.storeErrors.WithLabelValues("cancel").Inc()
	}
	x.detach()
	for range x.docket.asked {
		x.p.metrics.outcome(approvals.OutcomeCancelled)
	}
}

// decided turns what people answered into rulings.
func (x *exchange) decided() state {
	hold := x.docket.hold
	x.docket.hold = nil
	if err := hold.Err(); err != nil {
		return x.fail(x.storeError(err))
	}
	judged := x.policy()
	requests := hold.Requests()
	x.spans.answered(requests)
	for i, h := range x.docket.asked {
		h.request = &requests[i]
		x.decide(h, judged)
	}
	for _, h := range x.docket.asked {
		if h.ruling.Fate == intercept.Abort {
			d, _ := h.decision()
			x.abort(d.Note)
			break
		}
	}
	return (*exchange).proceed
}

// decide reads one answer. Rules are asked once more: they may be newer than the
// question, and the gate does not know with which key an edited call came.
func (x *exchange) decide(h *hearing, judged Policy) {
	d, _ := h.decision()
	if d.DecidedAt.After(x.docket.decided) {
		x.docket.decided = d.DecidedAt
	}
	name := h.call.Name
	switch h.request.Status {
	case approvals.StatusApproved:
		x.approved(h, d, judged)
	case approvals.StatusDenied:
		h.deny(approvals.OutcomeDeniedByPerson, d.Note, intercept.DeniedByPerson(name, d.Note))
		if d.Action == approvals.ActionAbortRun {
			h.rule(intercept.Abort, approvals.OutcomeAborted, intercept.RunAborted(d.Note))
		}
	case approvals.StatusExpired:
		h.deny(approvals.OutcomeExpired, "", intercept.NobodyAnswered(name))
	default:
		h.rule(intercept.Abort, approvals.OutcomeAborted, intercept.RunAborted(d.Note))
	}
}

func (x *exchange) approved(h *hearing, d approvals.Decision, judged Policy) {
	c := h.shown()
	outcome := approvals.OutcomeAllowedByPerson
	fate := intercept.Release
	told := ""
	switch {
	case d.Action == approvals.ActionModifyArgs:
		c.Arguments = editedText(c, d)
		outcome, fate, told = approvals.OutcomeModified, intercept.Edit, intercept.ArgumentsChanged(c.Name, d.Note)
	case d.ReviewerID == "timeout":
		outcome = approvals.OutcomeAllowedByTimeout
	}
	v := x.judgeCall(judged, c)
	refused := v.Action == policy.Deny
	if !refused && fate == intercept.Edit && h.request.PermitEdit(&d, v.Wants()) != nil {
		refused, v.Reason = true, "With the arguments that a reviewer has given it, other reviewers decide it."
	}
	if refused {
		h.rule(intercept.Deny, approvals.OutcomeDeniedByRule, intercept.DeniedByRule(c.Name, v.Reason))
		return
	}
	h.rule(fate, outcome, told)
	h.ruling.Arguments = c.Arguments
	if fate == intercept.Release {
		h.rewrite()
	}
}

// editedText is the text of the edited arguments as the agent gets it. Those of
// a free-text tool are a JSON string in the decision.
func editedText(c intercept.Call, d approvals.Decision) string {
	if !c.FreeText {
		return string(d.ModifiedArgs)
	}
	text, err := jsontext.AppendUnquote(nil, d.ModifiedArgs)
	if err != nil {
		return string(d.ModifiedArgs)
	}
	return string(text)
}

// awaitResume waits until a paused run goes on, with heartbeats.
func (x *exchange) awaitResume(*exchange) state {
	ctx, cancel := context.WithTimeout(x.ctx, x.p.options.Keepalive)
	defer cancel()
	drained := make(chan struct{})
	defer close(drained)
	go func() {
		select {
		case <-x.p.draining:
			cancel()
		case <-drained:
		}
	}()
	err := x.p.options.Gate.AwaitResume(ctx, x.identity().run)
	switch {
	case err == nil, errors.Is(err, approvals.ErrRunAborted):
		return (*exchange).proceed
	case x.ctx.Err() != nil:
		return x.gone()
	case x.isDraining():
		return x.shutDown()
	}
	return x.beat(x.awaitResume)
}

func (x *exchange) isDraining() bool {
	select {
	case <-x.p.draining:
		return true
	default:
		return false
	}
}

// count is what the metrics keep of a settled turn.
func (x *exchange) count() {
	for _, h := range x.docket.cases {
		x.p.metrics.outcome(h.outcome)
		if h.outcome == approvals.OutcomeDeniedByRule {
			x.p.metrics.deniedBy(h.verdict)
		}
		x.used(h)
		switch {
		case h.ruling.Fate == intercept.Abort:
			x.outcome = "aborted"
		case h.ruling.Fate != intercept.Release && x.outcome != "aborted":
			x.outcome = "changed"
		}
	}
	if !x.docket.decided.IsZero() {
		x.p.metrics.release.Observe(time.Since(x.docket.decided).Seconds())
	}
}

// used tells of the grants that decided a call.
func (x *exchange) used(h *hearing) {
	byRule := h.outcome == approvals.OutcomeAllowedByRule || h.outcome == approvals.OutcomeDeniedByRule
	if byRule && len(h.verdict.Grants) > 0 && x.p.options.Used != nil {
		x.p.options.Used(h.verdict.Grants...)
	}
}

// quoteJSON renders text as a JSON string.
func quoteJSON(text string) []byte {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil { // invalid UTF-8 was replaced; the raw text stands in details
		quoted, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	}
	return quoted
}
