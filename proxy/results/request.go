package results

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// NewRequest returns a request to people of a kind, about a call or a result, made now by the verdict of a policy. It contains the
// cause of a tainted run. The subject is missing: the call, and the texts about it. maxWait is
// the longest time that people have; 0: as long as the policy allows.
func NewRequest(c *conversation.Conversation, kind approvals.Kind, v *policy.Verdict, maxWait time.Duration) approvals.Request {
	who, now := c.Identity(), time.Now().UTC()
	q := approvals.Request{
		Kind: kind, Principal: who.Principal, SessionID: who.Session, RunID: who.Run,
		TurnID: c.Request.Turn, Dialect: c.Request.Dialect.Name(), Model: who.Model,
		Resource: v.Resource, RiskLevel: v.Risk, Reason: v.Reason, Rule: v.Rule,
		Context:   approvals.Context{LastUserMessage: Excerpt(c.Parsed.LastUser())},
		Reviewers: v.Reviewers, RequiredApprovals: v.RequiredApprovals,
		CreatedAt: now, OnTimeout: v.OnTimeout,
	}
	timeout := v.Timeout
	if maxWait > 0 && maxWait < timeout { // a time-out before that of the rule denies
		timeout, q.OnTimeout = maxWait, approvals.OnTimeoutDeny
	}
	q.ExpiresAt, q.Details.Escalation = now.Add(timeout), escalation(v.Escalate, now)
	for _, d := range v.Demands {
		q.Demands = append(q.Demands, approvals.Demand{
			Rule: d.Rule, Reviewers: d.Reviewers, RequiredApprovals: d.RequiredApprovals, Escalation: escalation(d.Escalate, now),
		})
	}
	q.Details.Tainted, q.Details.Passkey = c.Judged.Taint(), v.Passkey
	q.Details.Flags = slices.Clip(v.Flags)
	if cause := q.Details.Tainted; cause != "" {
		q.Details.Flags = append(q.Details.Flags, approvals.TaintFlag(cause))
	}
	if said, _ := c.Unseen.Said(); said {
		q.Details.Flags = append(q.Details.Flags, "The agent did not send results of earlier calls as results, so no rule has judged them.")
	}
	return q
}

// escalation is that of a request made now, nil for none.
func escalation(e rule.Escalation, now time.Time) *approvals.Escalation {
	if e.After <= 0 {
		return nil
	}
	return &approvals.Escalation{At: now.Add(e.After), To: e.To}
}

// excerptLength is how much of the texts of user and model a request contains: enough to
// understand a call, and never so much that a request cannot be recorded.
const excerptLength = 8 << 10

// Excerpt cuts a longer text in the middle, and marks where. It is a copy: requests that
// wait for people keep nothing of a long conversation in memory.
func Excerpt(text string) string {
	if len(text) <= excerptLength {
		return strings.Clone(text)
	}
	const half = excerptLength / 2
	left := len(text) - excerptLength
	return strings.ToValidUTF8(text[:half], "") + fmt.Sprintf(" […%d bytes left out…] ", left) + strings.ToValidUTF8(text[len(text)-half:], "")
}
