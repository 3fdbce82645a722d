package policy

import "github.com/heldcall/heldcall/approvals"

// JudgeHosted reports whether a request may offer the model a tool that the
// provider runs: [Allow], [Deny], or [Ask] where each call of it has to be
// approved, which only hosted MCP tools (mcp:SERVER) can be.
func (p *Policy) JudgeHosted(_ approvals.Principal, name string) Verdict {
	by, listed := p.rules.Hosted.Judge(name)
	return Verdict{Action: by.Action, Rule: by.Rule, Reason: by.Reason, Risk: approvals.RiskMedium, Resource: name, Listed: listed}
}
