package slack

import (
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify"
)

// channelName is the channel of decisions from Slack, as their records name it.
const channelName = "slack"

func statusText(r *approvals.Request) string {
	text := outcomeText(r)
	if note := r.AgentNote(date); note != "" {
		text += "; " + note
	}
	if note := r.NotRun(); note != "" {
		text += "; " + note
	}
	return text
}

func outcomeText(r *approvals.Request) string {
	switch {
	case !r.Status.Final():
		return waits(r)
	case r.Status == approvals.StatusExpired:
		return ":hourglass: expired, " + r.TimeoutOutcome()
	case r.Status == approvals.StatusCancelled:
		text := ":no_entry_sign: cancelled"
		if why, known := approvals.CancelReasons()[r.Details.CancelReason]; known {
			text += ": " + why
		} else if r.Details.CancelReason != "" {
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

func shortStatus(r *approvals.Request) string {
	text := string(r.Status)
	if d, ok := r.FinalDecision(); ok {
		text += " by " + reviewer(d)
	}
	if r.Agent != nil && r.Agent.State != approvals.AgentAttached {
		text += ", " + string(r.Agent.State)
	}
	return text
}

// waits names the reviewers who may decide, the approvals so far, and the end of the
// request.
func waits(r *approvals.Request) string {
	who := "pending"
	if len(r.Demands) > 0 {
		who = waitsForDemands(r)
	} else if len(r.Reviewers) > 0 {
		who = "waits for members of " + words(r.Reviewers, " or ", maxName)
	}
	if r.RequiredApprovals > 1 && len(r.Demands) == 0 {
		who += fmt.Sprintf(", %d of whom must approve", r.RequiredApprovals)
		if have := approvers(r); len(have) > 0 {
			who += "; so far: " + strings.Join(have, ", ")
		}
	}
	if e := r.Details.Escalation; e != nil && e.EscalatedAt != nil {
		who += ", escalated to " + words(e.To, " or ", maxName)
	}
	return who + "; " + notify.Expiry(r, date(r.ExpiresAt))
}

// date is a time of day, which Slack shows in the reader's zone.
func date(at time.Time) string {
	at = at.UTC()
	return fmt.Sprintf("<!date^%d^{time}|%s>", at.Unix(), at.Format(time.TimeOnly+" UTC"))
}

// waitsForDemands lists the demands of a request that are open, then those that are met.
func waitsForDemands(r *approvals.Request) string {
	var open, met []string
	for i, line := range r.DemandLines() {
		if r.Waits(i) {
			open = append(open, line)
		} else {
			met = append(met, line)
		}
	}
	who := "waits for " + firstDemands(open)
	if len(met) > 0 {
		who += ", and has " + firstDemands(met)
	}
	return who
}

func firstDemands(lines []string) string {
	shown := min(len(lines), maxDemands)
	text := words(lines[:shown], " and ", maxDemand)
	if more := len(lines) - shown; more > 0 {
		text += fmt.Sprintf(", and %d more (see the inbox)", more)
	}
	return text
}

func approvers(r *approvals.Request) []string {
	var have []string
	for _, d := range r.Decisions {
		have = append(have, reviewer(d))
	}
	return have
}

func reviewer(d approvals.Decision) string {
	switch d.ReviewerID {
	case approvals.ReviewerTimeout:
		return "the time-out"
	case approvals.ReviewerPolicy:
		return "the changed policy"
	}
	name, _ := word(d.ReviewerID, maxName)
	if d.OnBehalfOf != "" {
		other, _ := word(d.OnBehalfOf, maxName)
		name += " for " + other
	}
	return name
}

func by(r *approvals.Request) string {
	d, ok := r.FinalDecision()
	if !ok {
		return ""
	}
	who := []string{reviewer(d)}
	if r.Status == approvals.StatusApproved {
		who = approvers(r)
	}
	text := " by " + strings.Join(who, ", ")
	switch d.Action {
	case approvals.ActionModifyArgs:
		text += " " + approvals.WordsFor(r.Kind).Edited
	case approvals.ActionAllowAlways, approvals.ActionDenyAlways:
		text += ", always: " + words(d.Patterns[:min(len(d.Patterns), maxPatterns)], " ", maxName)
	}
	if d.Channel != "" && d.Channel != channelName {
		over, _ := word(d.Channel, maxName)
		text += " over " + over
	}
	if r.Status == approvals.StatusAnswered {
		answer, _ := word(r.AnswerText(), maxText)
		text += ": " + answer
	}
	if d.Note != "" {
		why, _ := word(d.Note, maxText)
		text += ": " + why
	}
	return text
}
