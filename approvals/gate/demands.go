package gate

import (
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// normalizeDemands sets Reviewers and RequiredApprovals of a new request to all groups of
// its demands and to their largest number of approvals. It removes escalations that add
// no group.
func normalizeDemands(r *approvals.Request) {
	if len(r.Demands) == 0 {
		return
	}
	r.Demands = slices.Clone(r.Demands)
	r.Reviewers, r.RequiredApprovals, r.Details.Escalation = nil, 1, nil
	for i := range r.Demands {
		d := &r.Demands[i]
		d.RequiredApprovals = max(d.RequiredApprovals, 1)
		r.RequiredApprovals = max(r.RequiredApprovals, d.RequiredApprovals)
		r.Reviewers = withGroups(r.Reviewers, d.Reviewers)
		if e := d.Escalation; e != nil {
			more := withGroups(d.Reviewers, e.To)[len(d.Reviewers):]
			d.Escalation = &approvals.Escalation{At: e.At, To: more}
			if len(more) == 0 {
				d.Escalation = nil
			}
		}
	}
}

// escalationTimes returns the times from which more groups may decide a pending request,
// or a demand of it.
func escalationTimes(r *approvals.Request) []time.Time {
	var times []time.Time
	for i, d := range r.EffectiveDemands() {
		e := d.Escalation
		if e != nil && e.EscalatedAt == nil && !r.Status.Final() && r.Waits(i) && !slices.ContainsFunc(times, e.At.Equal) {
			times = append(times, e.At)
		}
	}
	return times
}

// escalate adds the groups of escalations whose time has come by now, or by the time for
// which this was planned. A demand that has its approvals is left out. Escalate reports
// whether it added any.
func escalate(r *approvals.Request, now, due time.Time) bool {
	did := false
	r.Demands = slices.Clone(r.Demands)
	for i, d := range r.EffectiveDemands() {
		e := d.Escalation
		if e == nil || e.EscalatedAt != nil || !r.Waits(i) || (e.At.After(now) && e.At.After(due)) {
			continue
		}
		did = true
		done := *e
		done.EscalatedAt = &now
		r.Reviewers = withGroups(r.Reviewers, done.To)
		if len(r.Demands) == 0 {
			r.Details.Escalation = &done
			continue
		}
		r.Demands[i].Escalation = &done
		r.Demands[i].Reviewers = withGroups(r.Demands[i].Reviewers, done.To)
	}
	return did
}

// includes reports whether an approval for a demand is one for another: it names the
// same groups or, if an escalation has added some, is of the same rule.
func includes(d, want *approvals.Demand) bool {
	groups := want.Reviewers
	if e := d.Escalation; e != nil && e.EscalatedAt != nil && d.Rule == want.Rule {
		groups = withGroups(groups, e.To)
	}
	return len(groups) == len(d.Reviewers) && len(withGroups(groups, d.Reviewers)) == len(groups)
}

// withGroups returns the groups of both lists, each once.
func withGroups(groups, more []string) []string {
	all := slices.Clone(groups)
	for _, group := range more {
		if !slices.Contains(all, group) {
			all = append(all, group)
		}
	}
	return all
}
