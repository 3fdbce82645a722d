package turn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// newRequest is the request to people about one call: here the call of the wire becomes
// the request of the domain.
func (r *review) newRequest(j *judgedCall, answer *intercept.Answer) approvals.Request {
	c := r.conversation
	who, now := c.Identity(), time.Now().UTC()
	q := approvals.Request{
		Kind: approvals.KindPermission, Principal: who.Principal,
		SessionID: who.Session, RunID: who.Run, TurnID: c.Request.Turn,
		Dialect: c.Request.Dialect.Name(), Model: who.Model,
		ToolCallID: j.call.ID, ToolName: j.call.Name, Arguments: judge.ArgumentsValue(j.shown()),
		Resource: j.verdict.Resource, ArgsPreview: j.verdict.Preview,
		Title:     cmp.Or(j.verdict.Title, approvals.DefaultTitle(j.call.Name)),
		RiskLevel: j.verdict.Risk, Reason: j.verdict.Reason, Rule: j.verdict.Rule,
		SuggestedPatterns: j.verdict.Suggested,
		Context:           approvals.Context{LastUserMessage: excerpt(c.Parsed.LastUser()), AssistantText: excerpt(answer.Text())},
		AllowRemember:     j.verdict.AllowRemember, RememberScopes: j.verdict.RememberScopes,
		Details: approvals.Details{Flags: slices.Concat(j.call.Flags, j.verdict.Flags), Commands: j.verdict.Commands, FreeText: j.call.FreeText, Fixed: j.call.ReadOnly, Doubts: j.call.Ambiguous, Policy: j.policy},
	}
	r.decidedBy(&q, &j.verdict, now)
	if tool, ok := c.Parsed.Tool(j.call.Name); ok {
		q.Description = strings.Clone(tool.Description) // pins no list of tools
		q.Tool = approvals.Tool{Description: q.Description, Parameters: tool.Parameters}
		if strictjson.Deep(tool.Parameters) {
			q.Tool.Parameters = nil
			q.Details.Flags = append(slices.Clip(q.Details.Flags), "The tool's parameters are nested too deep to be shown, or checked against.")
		}
	}
	if q.Arguments[0] != '{' || string(q.Arguments) != j.call.Arguments {
		q.Details.RawArguments = j.call.Arguments
	}
	return q
}

// decidedBy sets who decides a request that is made now, and until when. The request contains
// why the run is tainted, if it is.
func (r *review) decidedBy(q *approvals.Request, v *policy.Verdict, now time.Time) {
	timeout, onTimeout := r.timeoutFor(v)
	q.Reviewers, q.RequiredApprovals = v.Reviewers, v.RequiredApprovals
	q.CreatedAt, q.ExpiresAt, q.OnTimeout = now, now.Add(timeout), onTimeout
	q.Details.Escalation = escalation(v.Escalate, now)
	for _, d := range v.Demands {
		q.Demands = append(q.Demands, approvals.Demand{
			Rule: d.Rule, Reviewers: d.Reviewers, RequiredApprovals: d.RequiredApprovals, Escalation: escalation(d.Escalate, now),
		})
	}
	if cause := r.conversation.Judged.Taint(); cause != "" {
		q.Details.Tainted = cause
		q.Details.Flags = append(slices.Clip(q.Details.Flags), "The run is tainted: it has read "+cause+".")
	}
}

// escalation is that of a request made now, nil for none.
func escalation(e rule.Escalation, now time.Time) *approvals.Escalation {
	if e.After <= 0 {
		return nil
	}
	return &approvals.Escalation{At: now.Add(e.After), To: e.To}
}

// timeoutFor is how long people have to answer, and the result of a time-out. Where the
// configuration bounds every hold below the time of the rule, a time-out denies the call.
func (r *review) timeoutFor(v *policy.Verdict) (timeout time.Duration, onTimeout string) {
	if bound := r.engine.Limits.MaxWait; bound > 0 && bound < v.Timeout {
		return bound, approvals.OnTimeoutDeny
	}
	return v.Timeout, v.OnTimeout
}

// excerptLength is how much of the texts of user and model a request contains: enough to
// understand a call, and never so much that a request cannot be recorded.
const excerptLength = 8 << 10

// excerpt cuts a longer text in the middle, and marks where. It is a copy: requests that
// wait for people keep nothing of a long conversation in memory.
func excerpt(text string) string {
	if len(text) <= excerptLength {
		return strings.Clone(text)
	}
	const half = excerptLength / 2
	left := len(text) - excerptLength
	return strings.ToValidUTF8(text[:half], "") + fmt.Sprintf(" […%d bytes left out…] ", left) + strings.ToValidUTF8(text[len(text)-half:], "")
}
