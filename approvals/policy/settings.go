package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// settings are what a rule says of a question to people.
type settings struct {
	risk      approvals.Risk
	timeout   time.Duration
	onTimeout string
	reviewers []string // sorted
	escalate  Escalation
	required  int
	forget    bool                   // decisions are not to be remembered
	lifts     bool                   // a grant that allows stands above the rule
	scopes    []approvals.GrantScope // of such a grant; nil: any
}

// settingsOf puts together the strictest settings of several ask rules, but for who
// decides: see [demandsOf]. Where silence approves, more time is stricter.
func settingsOf(asks []*pattern, silence bool) settings {
	var all settings
	for _, p := range asks {
		r := p.rule.settings
		all.risk = strictest(all.risk, r.risk)
		all.forget = all.forget || r.forget
		all.scopes, all.forget = common(all.scopes, r.scopes, all.forget)
		t := cmp.Or(r.timeout, DefaultTimeout)
		if all.timeout == 0 || (silence && t > all.timeout) || (!silence && t < all.timeout) {
			all.timeout = t
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

func strictest(a, b approvals.Risk) approvals.Risk {
	if riskLevel(b) > riskLevel(a) {
		return b
	}
	return a
}

// riskLevel orders risks; an unset one is below all.
func riskLevel(r approvals.Risk) int {
	return slices.Index([]approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}, r)
}

func rulesOf(patterns []*pattern) []*rule {
	rules := make([]*rule, len(patterns))
	for i, p := range patterns {
		rules[i] = p.rule
	}
	return rules
}

// Escalation is who may decide a question too when nobody has for a while. The
// zero value is none.
type Escalation struct {
	After time.Duration // from the question on; less than its timeout
	To    []string      // groups, sorted
}

// compare orders escalations by what they say.
func (e Escalation) compare(other Escalation) int {
	return cmp.Or(cmp.Compare(e.After, other.After), slices.Compare(e.To, other.To))
}

// Demand is what rules that name the same groups want of a question: so many approvals
// by their members.
type Demand struct {
	Rule              string     // "policy.yaml:12"; of several rules, with commas between
	Reviewers         []string   // groups, sorted; none: any reviewer
	RequiredApprovals int        // at least 1
	Escalate          Escalation // who may approve too, after a while
}

// demandsOf is what each rule of several ask patterns wants.
func demandsOf(asks []*pattern) []Demand {
	var all []Demand
	for i, p := range asks {
		if slices.ContainsFunc(asks[:i], func(earlier *pattern) bool { return earlier.rule == p.rule }) {
			continue
		}
		all = append(all, Demand{p.where, slices.Clone(p.rule.reviewers), p.rule.required, p.rule.escalate})
	}
	return all
}

// merged makes one of the demands that the same groups meet. What is wanted of any
// reviewer is wanted of the members of each group: those are reviewers too.
func merged(all []Demand) []Demand {
	var found []Demand
	anybody := all[0]
	anybody.RequiredApprovals = 1
	for _, d := range all {
		if len(d.Reviewers) == 0 {
			anybody.RequiredApprovals = max(anybody.RequiredApprovals, d.RequiredApprovals)
			continue
		}
		i := slices.IndexFunc(found, func(one Demand) bool {
			return slices.Equal(one.Reviewers, d.Reviewers) && one.Escalate.compare(d.Escalate) == 0
		})
		if i < 0 {
			found = append(found, d)
			continue
		}
		same := &found[i]
		same.RequiredApprovals = max(same.RequiredApprovals, d.RequiredApprovals)
		for rule := range strings.SplitSeq(d.Rule, ", ") {
			if !slices.Contains(strings.Split(same.Rule, ", "), rule) {
				same.Rule += ", " + rule
			}
		}
	}
	if len(found) == 0 {
		return []Demand{anybody}
	}
	for i := range found {
		found[i].RequiredApprovals = max(found[i].RequiredApprovals, anybody.RequiredApprovals)
	}
	return found
}
