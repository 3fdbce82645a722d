package approvals

import (
	"context"
	"errors"
	"slices"
	"time"
)

// errEscalated stops an escalation that has been done.
var errEscalated = errors.New("escalated already")

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

// escalationTimes are when more groups may decide a request that waits, or a demand of it.
func (r *Request) escalationTimes() []time.Time {
	var times []time.Time
	for i, e := range r.escalations() {
		if e != nil && e.EscalatedAt == nil && !r.Status.Final() && r.Waits(i) && !slices.ContainsFunc(times, e.At.Equal) {
			times = append(times, e.At)
		}
	}
	return times
}

// escalate lets more groups decide a request for which a time has come. The first
// groups may still decide it, and what they have approved stands.
func (g *Gate) escalate(ctx context.Context, id string, due time.Time) error {
	_, err := g.move(ctx, id, func(r *Request) error {
		now := g.now().UTC()
		if !r.escalate(now, due) {
			return errEscalated
		}
		return nil
	})
	if errors.Is(err, errEscalated) {
		return nil
	}
	return err
}

// escalate does what is due by now, or by the time for which it was planned: nobody is
// called in for a demand that has its approvals. It reports whether there was anything.
func (r *Request) escalate(now, due time.Time) bool {
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
