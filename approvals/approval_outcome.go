package approvals

import (
	"cmp"
	"time"
)

// ApprovalState is whether an approval of a call has had an effect.
type ApprovalState string

// The states of an approval.
const (
	ApprovalWaiting     ApprovalState = "waiting"      // the agent has not got the call yet
	ApprovalReleased    ApprovalState = "released"     // the agent got the call
	ApprovalNotReleased ApprovalState = "not_released" // the agent did not get the call
)

// ApprovalOutcome is the effect of the approval of a call.
type ApprovalOutcome struct {
	State ApprovalState `json:"state"`
	// Reason is why the call waits or was not released, in words for people; "" once it is released.
	Reason string `json:"reason"`
	// At is when the call was released, or when it was known that it is not, UTC; nil while it waits.
	At *time.Time `json:"at,omitempty"`
}

// ApprovalTTL is how long after the decision an approved call may be released. So long the agent of a parked
// call may make it again without asking, once.
const ApprovalTTL = 24 * time.Hour

// Reasons why an approved call was not released.
const (
	NotReleasedAgentGone    = "its agent did not come back for the answer"
	NotReleasedRestarted    = "its agent was started again, and another request asks about the call"
	NotReleasedRunStopped   = "its run was stopped"
	NotReleasedDenied       = "a rule denies the call now"
	NotReleasedAnswerFailed = "heldcall could not give the agent its answer"
	NotReleasedOtherFailed  = "another call of the same answer was cancelled"
	NotReleasedStopped      = "heldcall stopped before the answer was complete"
	NotReleasedDisconnected = "its agent has disconnected"
	NotReleasedNotRepeated  = "its agent did not make the call in the time for which an approval is valid"
)

// NotReleasedBecause returns the reason why the approved calls of a turn that was cancelled were not released.
func NotReleasedBecause(cancelReason string) string {
	switch cancelReason {
	case CancelAgentGone:
		return NotReleasedAgentGone
	case CancelAgentRestarted:
		return NotReleasedRestarted
	case CancelRunAborted:
		return NotReleasedRunStopped
	}
	return NotReleasedAnswerFailed
}

// ApprovalEnd returns when the approval of a call ends, UTC.
func (r *Request) ApprovalEnd() time.Time {
	d, _ := r.FinalDecision()
	return d.DecidedAt.UTC().Truncate(time.Second).Add(ApprovalTTL)
}

// approvesCall reports whether the request approved a call. Approvals of results concern what a model reads.
func (r *Request) approvesCall() bool {
	return r.Status == StatusApproved && r.Kind != KindResult && !r.Asks()
}

// Unsettled reports whether the record of the request has an approved call and lacks what became of it.
func (r *Request) Unsettled() bool {
	return r.approvesCall() && r.Details.Result == nil && !r.settled() && r.TurnID != ""
}

// DescribeOutcome sets the outcome of an approval that waits, from the state of the agent. Paused reports that the run is.
// An approval that ended without a record, as before outcomes were recorded, has none.
func (r *Request) DescribeOutcome(paused bool, now time.Time) {
	switch {
	case r.Outcome != nil || !r.approvesCall():
	case r.Details.Result != nil:
		r.Outcome = &ApprovalOutcome{State: ApprovalReleased, At: &r.Details.Result.ReleasedAt}
	case r.Agent != nil || now.Before(r.ApprovalEnd()):
		r.Outcome = &ApprovalOutcome{State: ApprovalWaiting, Reason: r.waitsBecause(paused)}
	}
}

func (r *Request) waitsBecause(paused bool) string {
	switch {
	case paused:
		return "its run is paused"
	case r.Agent != nil && r.Agent.State == AgentAttached:
		return "the agent gets the call with the other calls of the answer"
	case r.AfterApproval() != "":
		return r.AfterApproval()
	}
	return "the agent has not got the call yet"
}

// settled reports whether the record has what became of the approved call.
func (r *Request) settled() bool { return r.Outcome != nil && r.Outcome.State != ApprovalWaiting }

// NotRun returns a line for people about an approval without an effect, "" for others.
func (r *Request) NotRun() string {
	if r.Outcome == nil || r.Outcome.State != ApprovalNotReleased {
		return ""
	}
	return "approved, not run: " + cmp.Or(r.Outcome.Reason, "the reason is not known")
}

// notReleasedEvents returns the event of an approved call that was not released.
func (r *Request) notReleasedEvents() []Event {
	if r.NotRun() == "" || r.Outcome.At == nil {
		return nil
	}
	e := r.event(EventCallNotReleased, 0, *r.Outcome.At)
	e.Note = r.Outcome.Reason
	return []Event{e}
}
