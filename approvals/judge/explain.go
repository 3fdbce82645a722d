package judge

import (
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/wrapped"
)

// Explain returns how a policy judges a call without grants, and each call that it wraps.
func Explain(p *policy.Policy, from Origin, c intercept.Call) policy.Explanation {
	e := p.Explain(from.call(c))
	inner := wrapped.Read(c, from.Offer).Calls
	if len(inner) == 0 {
		return e
	}
	var verdicts []policy.Verdict
	for _, one := range inner {
		explained := p.Explain(from.call(one))
		explained.Call = one.Name + " " + one.Arguments
		e.Wrapped, verdicts = append(e.Wrapped, explained), append(verdicts, explained.Verdict)
	}
	all := policy.Together(verdicts...)
	e.Verdict = NewRules(p).Verdict(from, c)
	e.Verdict.Effects, e.Verdict.Risk = all.Effects, all.Risk // which a verdict that allows lacks
	return e
}
