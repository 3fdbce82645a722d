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
	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/parking"
)

// A call is parked when people have not decided on it in time: the answer ends with a
// notice, and the request stays open. For the model it is a denied call of a hidden turn,
// whose message has the state of the request: see [notice.FillParked].

// parkedAt returns when a hold on the calls that begins now is parked.
func parkedAt(asked []*judgedCall, limits *Limits, c *Request, now time.Time) parking.Deadline {
	modes := make([]rule.Hold, 0, len(asked))
	for _, j := range asked {
		modes = append(modes, j.verdict.Hold)
	}
	return parking.New(modes, parking.Limits{Park: limits.Park, After: limits.ParkAfter, Patience: c.Patience, Began: c.Began}, now)
}

// park ends the wait: calls on which people have not decided are parked.
func (t *Turn) park() State {
	r := &t.review
	requests := r.hold.Requests()
	r.hold.Detach()
	r.hold = nil
	r.rule(requests)
	var parked []*judgedCall
	var notices []string
	for _, j := range r.calls {
		if j.outcome != approvals.OutcomeParked {
			continue
		}
		if parked = append(parked, j); j.twin == nil {
			notices = append(notices, j.parkedNotice())
		}
	}
	for _, j := range parked {
		j.ruling.UserMessage = strings.Join(notices, "\n\n")
	}
	return Settling
}

// parkedNotice is the text for the user about a parked call.
func (j *judgedCall) parkedNotice() string {
	if j.request.Asks() {
		return questions.ParkedNotice(j.request.ID)
	}
	return cmp.Or(j.verdict.Notice.Parked(j.request.ID), notice.ParkedNotice(j.call.Name, j.request.ID))
}

// park gives the call the ruling of a parked one.
func (j *judgedCall) park() {
	j.rule(intercept.Deny, approvals.OutcomeParked, notice.ParkedMark(j.request.ID))
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
		case parked.Status != approvals.StatusApproved || time.Now().After(parked.ApprovalEnd()):
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
