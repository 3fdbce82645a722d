package turn

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// A call is parked when people have not decided on it in time: the answer ends with a
// notice, and the request stays open. For the model it is a denied call of a hidden turn,
// whose message has the state of the request: see [intercept.FillParked].

// parking is when a hold is parked, zero for never.
type parking struct{ at time.Time }

// newParking returns when a hold that begins now is parked: never, if one of the calls has
// to wait.
func newParking(asked []*judgedCall, limits *Limits, c *Request, now time.Time) parking {
	for _, j := range asked {
		mode := j.verdict.Hold
		if mode == "" && limits.Park {
			mode = rule.HoldPark
		}
		if mode != rule.HoldPark {
			return parking{}
		}
	}
	at := now.Add(limits.ParkAfter)
	if c.Patience > 0 {
		if end := c.Began.Add(c.Patience - margin(c.Patience)); end.Before(at) {
			return parking{end}
		}
	}
	return parking{at}
}

// margin is how long before its own limit a client gets its answer.
func margin(limit time.Duration) time.Duration {
	return min(max(limit/10, 2*time.Second), limit/2)
}

// within is how long to wait for people before the next step: at most most.
func (p parking) within(most time.Duration) time.Duration {
	if p.at.IsZero() {
		return most
	}
	return max(min(most, time.Until(p.at)), 0)
}

// due reports whether the answer is to end although people have not decided.
func (p parking) due() bool { return !p.at.IsZero() && !time.Now().Before(p.at) }

// park ends the wait: calls on which people have not decided are parked.
func park(t *Turn) State {
	r := &t.review
	requests := r.hold.Requests()
	r.hold.Detach()
	r.hold = nil
	r.rule(requests)
	var parked []*judgedCall
	var notices []string
	for _, j := range r.asked {
		if j.outcome == approvals.OutcomeParked {
			parked = append(parked, j)
			notices = append(notices, cmp.Or(j.verdict.Notice.Text(j.request.ID), intercept.ParkedNotice(j.call.Name, j.request.ID)))
		}
	}
	for _, j := range parked {
		j.ruling.UserMessage = strings.Join(notices, "\n\n")
	}
	return Settling
}

// park gives the call the ruling of a parked one.
func (j *judgedCall) park() {
	j.rule(intercept.Deny, approvals.OutcomeParked, intercept.ParkedMark(j.request.ID))
}

// rejoin looks for an equal call that was parked in the session. If it was approved, the
// approval is consumed and the call is released. If its request is open, rejoin returns
// that, unless another call of the answer has joined it.
func (j *judgedCall) rejoin(ctx context.Context, hidden *conversation.HiddenTurns, asked []approvals.Request) (open *approvals.Request, refusal *intercept.Error) {
	key := judge.Key(j.call)
	for _, parked := range hidden.Parked() {
		joined := slices.ContainsFunc(asked, func(q approvals.Request) bool { return q.ID == parked.ID })
		if joined || key != judge.Key(judge.Approved(&parked)) {
			continue
		}
		switch {
		case parked.Status == approvals.StatusPending:
			return &parked, nil
		case parked.Status != approvals.StatusApproved || time.Now().After(conversation.ApprovalEnd(&parked)):
			continue
		}
		taken, refusal := hidden.TakeApproval(ctx, parked.ID)
		if refusal != nil {
			return nil, refusal
		}
		if taken {
			j.request = &parked
			d, _ := j.decision()
			j.release(d)
			return nil, nil
		}
	}
	return nil, nil
}
