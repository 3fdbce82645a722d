package policy

import (
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

// Wants is what reviewers have to give before the call goes; none where they are not
// asked.
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
	v.Demands, v.Escalate = all, Escalation{}
	for _, d := range all[1:] {
		v.RequiredApprovals = max(v.RequiredApprovals, d.RequiredApprovals)
		v.Reviewers = slices.Concat(v.Reviewers, d.Reviewers)
	}
	slices.Sort(v.Reviewers)
	v.Reviewers = slices.Compact(v.Reviewers)
}
