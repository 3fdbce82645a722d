package policy

import (
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/effects"
)

// effects returns the effects of the call.
func (e *evaluation) effects() []approvals.Effect { return effects.Of(e.c) }

// risk returns the risk that the policy gives the tool, else that of the effects of the call.
func (e *evaluation) risk(of []approvals.Effect) approvals.Risk {
	if t := e.c.Tool; t != nil && !t.Builtin && t.Risk != "" {
		return t.Risk
	}
	return effects.Risk(of, e.c.Tool.RiskOr(""))
}
