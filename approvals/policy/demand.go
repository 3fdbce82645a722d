package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Wants returns the approvals that a call needs, or none if the verdict is not to ask.
func (v *Verdict) Wants() (all []approvals.Demand) {
	if v.Action != Ask {
		return nil
	}
	for _, d := range v.wants() {
		all = append(all, approvals.Demand{Rule: d.Rule, Reviewers: d.Reviewers, RequiredApprovals: d.RequiredApprovals})
	}
	return all
}

// wants are the demands of a verdict that asks, or would.
func (v *Verdict) wants() []Demand {
	if len(v.Demands) > 0 {
		return slices.Clone(v.Demands)
	}
	return []Demand{{v.Rule, v.Reviewers, v.RequiredApprovals, v.Escalate}}
}

// want sets who decides a question so that all demands are met.
func (v *Verdict) want(all []Demand) {
	all = merged(all)
	first := all[0]
	v.Reviewers, v.RequiredApprovals, v.Escalate, v.Demands = first.Reviewers, first.RequiredApprovals, first.Escalate, nil
	if len(all) == 1 {
		return
	}
	v.Demands, v.Escalate = all, rule.Escalation{}
	for _, d := range all[1:] {
		v.RequiredApprovals = max(v.RequiredApprovals, d.RequiredApprovals)
		v.Reviewers = slices.Concat(v.Reviewers, d.Reviewers)
	}
	slices.Sort(v.Reviewers)
	v.Reviewers = slices.Compact(v.Reviewers)
}

// Demand is the approvals that rules with the same reviewers require.
type Demand struct {
	Rule              string          // "policy.yaml:12"; of several rules, with commas between
	Reviewers         []string        // groups, sorted; none: any reviewer
	RequiredApprovals int             // at least 1
	Escalate          rule.Escalation // who may approve too, after a while
}

func demandsOf(asks []*rule.Pattern) []Demand {
	var all []Demand
	for i, p := range asks {
		if slices.ContainsFunc(asks[:i], func(earlier *rule.Pattern) bool { return earlier.Rule == p.Rule }) {
			continue
		}
		all = append(all, Demand{p.Where, slices.Clone(p.Rule.Reviewers), p.Rule.Required, p.Rule.Escalate})
	}
	return all
}

// merged joins demands with the same reviewers. Approvals required of any reviewer are required of
// the members of each group, as those are reviewers too.
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
			return slices.Equal(one.Reviewers, d.Reviewers) && one.Escalate.Compare(d.Escalate) == 0
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
