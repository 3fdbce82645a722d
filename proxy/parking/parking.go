// Package parking is pure arithmetic of times for the turns: it decides when a hold is parked, which
// is when the answer ends with a notice although people have not decided.
package parking

import (
	"time"

	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Limits bound how long an answer waits for people before it is parked.
type Limits struct {
	Park     bool          // holds are parked where no rule has it otherwise
	After    time.Duration // from the beginning of the hold
	Patience time.Duration // how long the client waits for its answer; 0: not known
	Began    time.Time     // when its request arrived
}

// Deadline is when a hold is parked. The zero value is never.
type Deadline struct{ at time.Time }

// New returns the deadline of a hold that begins now, on calls whose rules have these modes:
// never, if one of the calls has to wait.
func New(modes []rule.Hold, limits Limits, now time.Time) Deadline {
	for _, mode := range modes {
		if mode == "" && limits.Park {
			mode = rule.HoldPark
		}
		if mode != rule.HoldPark {
			return Deadline{}
		}
	}
	at := now.Add(limits.After)
	if limits.Patience > 0 {
		if end := limits.Began.Add(limits.Patience - margin(limits.Patience)); end.Before(at) {
			return Deadline{end}
		}
	}
	return Deadline{at}
}

// margin is how long before its own limit a client gets its answer.
func margin(limit time.Duration) time.Duration {
	return min(max(limit/10, 2*time.Second), limit/2)
}

// Within returns how long to wait for people before the next step: at most most.
func (d Deadline) Within(most time.Duration) time.Duration {
	if d.at.IsZero() {
		return most
	}
	return max(min(most, time.Until(d.at)), 0)
}

// Due reports whether the answer is to end although people have not decided.
func (d Deadline) Due() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }
