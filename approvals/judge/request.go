package judge

import (
	"cmp"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/intercept"
)

// NewRequest returns a request to people of a kind, made now by a verdict. The subject is missing: the call or the result,
// and the texts about it. maxWait is the longest time that people have; 0: as long as the policy allows.
func (o *Origin) NewRequest(kind approvals.Kind, v *policy.Verdict, maxWait time.Duration) approvals.Request {
	now := time.Now().UTC()
	q := approvals.Request{
		Kind: kind, Principal: o.Principal, SessionID: o.Session, RunID: o.Run, TurnID: o.Turn, Dialect: o.Dialect, Model: o.Model,
		Resource: v.Resource, RiskLevel: v.Risk, Reason: v.Reason, Rule: v.Rule,
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
	q.Details.Passkey, q.Details.Flags = v.Passkey, slices.Clip(v.Flags)
	return q
}

// escalation is that of a request made now, nil for none.
func escalation(e rule.Escalation, now time.Time) *approvals.Escalation {
	if e.After <= 0 {
		return nil
	}
	return &approvals.Escalation{At: now.Add(e.After), To: e.To}
}

// Subject makes a judged call the subject of a request to people. shown is the call as rewrite rules have changed it.
func (j *Case) Subject(q *approvals.Request, c, shown intercept.Call) {
	v := &j.Verdict
	q.ToolCallID, q.ToolName = c.ID, c.Name
	q.Arguments, q.ArgsPreview = ArgumentsValue(shown), v.Preview
	q.Title = cmp.Or(v.Title, approvals.DefaultTitle(c.Name))
	q.SuggestedPatterns, q.AllowRemember, q.RememberScopes = v.Suggested, v.AllowRemember, v.RememberScopes
	q.Effects, q.Details.ByDefault = v.Effects, v.ByDefault
	q.Details.Confirm = v.Confirmation(c.Name)
	q.Details.Window, q.Details.DenyOnly = v.Window, v.DenyOnly
	if q.PermitsFolder() {
		q.Details.Folder = v.Folder
	}
	q.Details.Flags = slices.Concat(c.Flags, q.Details.Flags)
	q.Details.Commands, q.Details.Policy = v.Commands, j.Policy
	q.Details.FreeText, q.Details.Fixed, q.Details.Doubts = c.FreeText, c.ReadOnly, j.Doubts(c)
	q.Details.Subagent = c.Subagent
	if q.Arguments[0] != '{' || string(q.Arguments) != c.Arguments {
		q.Details.RawArguments = c.Arguments
	}
}

// Doubts are the reasons why a call is never allowed without asking: those of the wire, and that its tool is not
// offered.
func (j *Case) Doubts(c intercept.Call) []string {
	if j.Verdict.Unoffered == "" {
		return c.Ambiguous
	}
	return append(slices.Clip(c.Ambiguous), j.Verdict.Unoffered)
}
