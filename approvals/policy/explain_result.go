package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// ExplainResult judges the result of a call and explains the verdict. The rules are in the
// order of the file.
func (p *Policy) ExplainResult(r Result) Explanation {
	evaluation := p.evaluate(r.Call)
	x := &explainer{e: evaluation, c: evaluation.c}
	v := p.JudgeResult(r)
	e := Explanation{Known: x.known()}
	if v.Action != Deny {
		e.Reads, e.Taint = strings.Join(r.Texts, "\n"), v.Taint
	}
	if v.Redacted != nil {
		e.Reads = strings.Join(v.Redacted, "\n")
	}
	e.Verdict = Verdict{Action: v.Said(), Rule: v.Rule, Reason: v.Reason, Risk: v.Question.Risk}
	type listed struct {
		*rule.Pattern
		in Action
	}
	var all []listed
	rules := &p.rules.Results
	lists := map[Action][]*rule.Pattern{Deny: rules.Deny, Ask: rules.Ask, Redact: rules.Redact, "taint": rules.Taint}
	if rules.Allow != nil {
		lists[Allow] = rules.Allow.All
	}
	for in, list := range lists {
		for _, one := range list {
			all = append(all, listed{one, in})
		}
	}
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.in, b.in), cmp.Compare(a.Text, b.Text))
	})
	for _, one := range all {
		explain := x.explainMatch
		if one.in == Allow {
			explain = x.explainAllow
		}
		applies, says := explain(one.Pattern)
		if applies && !contains(one.Rule.Contains, r.Texts) {
			applies, says = false, "matches the call, and the result contains nothing that the rule names"
		}
		e.Rules = append(e.Rules, RuleExplanation{one.Where, one.in, one.Text, applies, says})
	}
	return e
}
