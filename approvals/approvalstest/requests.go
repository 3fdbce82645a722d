package approvalstest

import (
	"encoding/json"
	"errors"

	"github.com/heldcall/heldcall/approvals"
)

// Request returns a request of ann's agent to use a tool.
func Request(tool string) approvals.Request {
	return approvals.Request{
		Kind:       approvals.KindPermission,
		Principal:  approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"},
		SessionID:  "s1",
		RunID:      "run-1",
		ToolCallID: "call_1",
		ToolName:   tool,
		Arguments:  json.RawMessage(`{"path":"<a>&b","n":9007199254740993}`),
		RiskLevel:  approvals.RiskHigh,
		Tool: approvals.Tool{Parameters: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}`)},
	}
}

// Rememberable returns a request whose decision may be remembered.
func Rememberable(tool string) approvals.Request {
	r := Request(tool)
	r.AllowRemember = true
	return r
}

// Grant returns a grant by hand that allows ann's agent a tool.
func Grant(tool string) approvals.Grant {
	return approvals.Grant{
		Effect: approvals.GrantAllow, Principal: approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"},
		Patterns: []string{tool}, GrantedBy: "rita",
	}
}

// Demanding returns a request that two rules ask about: one approval of dba, two of security.
func Demanding() approvals.Request {
	r := Request("x")
	r.Rule = "policy.yaml:1"
	r.Demands = []approvals.Demand{
		{Rule: "policy.yaml:1", Reviewers: []string{"dba"}, RequiredApprovals: 1},
		{Rule: "policy.yaml:2", Reviewers: []string{"security"}, RequiredApprovals: 2},
	}
	return r
}

// DecisionBy returns a decision of a reviewer in groups.
func DecisionBy(reviewer string, action approvals.Action, groups ...string) approvals.Decision {
	return approvals.Decision{Action: action, ReviewerID: reviewer, ReviewerGroups: groups}
}

// KindOf returns the kind of a refusal: "forbidden", "invalid", "" for none, or the text of
// another error.
func KindOf(err error) string {
	forbidden, invalid := (*approvals.ForbiddenError)(nil), (*approvals.InvalidError)(nil)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &forbidden):
		return "forbidden"
	case errors.As(err, &invalid):
		return "invalid"
	}
	return err.Error()
}
