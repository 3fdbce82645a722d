package approvals

import (
	"context"
	"errors"
	"slices"
)

// errEscalated stops an escalation that has been done.
var errEscalated = errors.New("escalated already")

// willEscalate reports whether more groups may decide the request later.
func (r *Request) willEscalate() bool {
	e := r.Details.Escalation
	return !r.Status.Final() && e != nil && e.EscalatedAt == nil
}

// escalate lets more groups decide a request that has waited for long enough. The
// first groups may still decide it, and what they have approved stands.
func (g *Gate) escalate(ctx context.Context, id string) error {
	_, err := g.move(ctx, id, func(r *Request) error {
		now := g.now().UTC()
		switch {
		case !r.willEscalate():
			return errEscalated
		case now.Before(r.Details.Escalation.At):
			return errNotDue
		}
		done := *r.Details.Escalation
		done.EscalatedAt = &now
		r.Details.Escalation = &done
		r.Reviewers = slices.Clone(r.Reviewers)
		for _, group := range done.To {
			if !slices.Contains(r.Reviewers, group) {
				r.Reviewers = append(r.Reviewers, group)
			}
		}
		return nil
	})
	if errors.Is(err, errEscalated) {
		return nil
	}
	return err
}
