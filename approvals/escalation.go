package approvals

import (
	"slices"
	"time"
)

// escalations are those of the request's demands, by their places, or its own; nil
// stands for none.
func (r *Request) escalations() []*Escalation {
	if len(r.Demands) == 0 {
		return []*Escalation{r.Details.Escalation}
	}
	all := make([]*Escalation, len(r.Demands))
	for i := range r.Demands {
		all[i] = r.Demands[i].Escalation
	}
	return all
}

// EscalationTimes are when more groups may decide a request that waits, or a demand of it.
func (r *Request) EscalationTimes() []time.Time {
	var times []time.Time
	for i, e := range r.escalations() {
		if e != nil && e.EscalatedAt == nil && !r.Status.Final() && r.Waits(i) && !slices.ContainsFunc(times, e.At.Equal) {
			times = append(times, e.At)
		}
	}
	return times
}

// Escalate does what is due by now, or by the time for which it was planned: nobody is
// called in for a demand that has its approvals. It reports whether there was anything.
func (r *Request) Escalate(now, due time.Time) bool {
	did := false
	r.Demands = slices.Clone(r.Demands)
	for i, e := range r.escalations() {
		if e == nil || e.EscalatedAt != nil || !r.Waits(i) || e.At.After(now) && e.At.After(due) {
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
