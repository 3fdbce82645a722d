package slack

import (
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// standing says where a request stands: what it waits for, or how it ended and by
// whom.
func standing(r *approvals.Request) string {
	switch {
	case !r.Status.Final():
		return waits(r)
	case r.Status == approvals.StatusExpired:
		return ":hourglass: nobody answered in time, so it was denied"
	case r.Status == approvals.StatusCancelled:
		text := ":no_entry_sign: cancelled"
		if r.Details.CancelReason != "" {
			reason, _ := word(r.Details.CancelReason, maxName)
			text += ": " + reason
		}
		return text + by(r)
	}
	sign := ":white_check_mark:"
	if r.Status == approvals.StatusDenied {
		sign = ":x:"
	}
	return sign + " " + string(r.Status) + by(r)
}

// shortStanding is standing for a line among many.
func shortStanding(r *approvals.Request) string {
	text := string(r.Status)
	if d, ok := r.FinalDecision(); ok {
		text += " by " + reviewer(d)
	}
	return text
}

// waits says who may decide, what has been decided so far, and what happens if nobody
// answers.
func waits(r *approvals.Request) string {
	who := "waits for you"
	if len(r.Reviewers) > 0 {
		who = "waits for members of " + words(r.Reviewers, " or ", maxName)
	}
	if r.RequiredApprovals > 1 {
		var have []string
		for _, d := range r.Decisions {
			have = append(have, reviewer(d))
		}
		who += fmt.Sprintf(", %d of whom must approve", r.RequiredApprovals)
		if len(have) > 0 {
			who += "; so far: " + strings.Join(have, ", ")
		}
	}
	if e := r.Details.Escalation; e != nil && e.EscalatedAt != nil {
		who += ", escalated to " + words(e.To, " or ", maxName)
	}
	at := r.ExpiresAt.UTC()
	return fmt.Sprintf("%s until <!date^%d^{time}|%s>, else %s", who, at.Unix(), at.Format(time.TimeOnly+" UTC"), onTimeout(r))
}

func onTimeout(r *approvals.Request) string {
	if r.OnTimeout == approvals.OnTimeoutApprove {
		return "approved"
	}
	return "denied"
}

// reviewer names who took a decision.
func reviewer(d approvals.Decision) string {
	if d.ReviewerID == approvals.ReviewerTimeout {
		return "the time-out"
	}
	name, _ := word(d.ReviewerID, maxName)
	if d.OnBehalfOf != "" {
		other, _ := word(d.OnBehalfOf, maxName)
		name += " for " + other
	}
	return name
}

// by says who ended a request, how and why.
func by(r *approvals.Request) string {
	d, ok := r.FinalDecision()
	if !ok {
		return ""
	}
	text := " by " + reviewer(d)
	switch d.Action {
	case approvals.ActionModifyArgs:
		text += " with other arguments"
	case approvals.ActionAllowAlways, approvals.ActionDenyAlways:
		text += ", always: " + words(firstFew(d.Patterns), " ", maxName)
	}
	if d.Channel != "" && d.Channel != channel {
		over, _ := word(d.Channel, maxName)
		text += " over " + over
	}
	if d.Note != "" {
		why, _ := word(d.Note, maxSaid)
		text += ": " + why
	}
	return text
}

// firstFew keeps a line short.
func firstFew(patterns []string) []string { return patterns[:min(len(patterns), 5)] }
