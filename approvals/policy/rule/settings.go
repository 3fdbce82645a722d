package rule

import (
	"cmp"
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

// StrictestSettings puts together the strictest settings of several ask rules, but for who
// decides: see [demandsOf]. Where silence approves, more time is stricter.
func StrictestSettings(asks []*Pattern, silence bool) Settings {
	var all Settings
	for _, p := range asks {
		r := p.Rule.Settings
		all.Risk = Strictest(all.Risk, r.Risk)
		all.NoRemember = all.NoRemember || r.NoRemember
		all.Scopes, all.NoRemember = common(all.Scopes, r.Scopes, all.NoRemember)
		t := cmp.Or(r.Timeout, DefaultTimeout)
		if all.Timeout == 0 || (silence && t > all.Timeout) || (!silence && t < all.Timeout) {
			all.Timeout = t
		}
	}
	return all
}

// common are the scopes that two rules let a grant have. Where they have none in
// common, nothing is remembered.
func common(a, b []approvals.GrantScope, forget bool) ([]approvals.GrantScope, bool) {
	switch {
	case len(b) == 0:
		return a, forget
	case len(a) == 0:
		return b, forget
	}
	var both []approvals.GrantScope
	for _, one := range a {
		if slices.Contains(b, one) {
			both = append(both, one)
		}
	}
	return both, forget || len(both) == 0
}

// RulesOf returns the rules of patterns, in their order.
func RulesOf(patterns []*Pattern) []*Rule {
	rules := make([]*Rule, len(patterns))
	for i, p := range patterns {
		rules[i] = p.Rule
	}
	return rules
}
