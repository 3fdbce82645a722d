package policy

import (
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
)

// effectsOf returns the effects of a call by tables, at least one. A call of a known tool has those of
// its kind (effects_tools.go), a shell command those of each of its programs (effects_shell.go), SQL those
// of its statements (effects_sql.go). What no table has is [approvals.EffectUnknown]. Equal ones are returned once.
func effectsOf(c *call.Reading) []approvals.Effect {
	f := &effectFinder{c: c, found: make([]approvals.Effect, 0, 2)}
	switch {
	case len(c.Doubts) > 0, c.Call.Unoffered != "", c.Ambiguity != "" && len(c.Resources()) == 0:
		f.unknown(c.Call.Tool)
	case c.Kind == call.Shell:
		f.scripts()
	default:
		f.tool()
	}
	if c.Ambiguity != "" || c.Partial != "" {
		f.unknown(c.Call.Tool)
	}
	if c.Filter != "" {
		f.add(approvals.EffectSecret, c.Filter, "", true)
	}
	for _, name := range c.Call.Secrets {
		f.add(approvals.EffectSecret, name, "", false)
	}
	if len(f.found) == 0 || f.more {
		f.found = append(f.found, approvals.Effect{Kind: approvals.EffectUnknown})
	}
	return f.found
}

// effects returns the effects of the call.
func (e *evaluation) effects() []approvals.Effect { return effectsOf(e.c) }

// risk returns the risk that the policy gives the tool, else that of the effects of the call.
func (e *evaluation) risk(of []approvals.Effect) approvals.Risk {
	if t := e.c.Tool; t != nil && !t.Builtin && t.Risk != "" {
		return t.Risk
	}
	return riskOfEffects(of, e.c.Tool.RiskOr(""))
}
