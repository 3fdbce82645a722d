package gate

import (
	"errors"

	"github.com/heldcall/heldcall/approvals"
)

// mayDecide reports whether a reviewer may take this decision on this request: as
// a member of one of its groups, where it names any, or in the place of one who
// is. It notes in whose place they decide, the first who can, and of an approval for
// which of the request's demands it counts.
func (g *Gate) mayDecide(r *approvals.Request, d *approvals.Decision) error {
	d.OnBehalfOf, d.OnBehalfUser, d.OnBehalfGroups, d.Fills = "", "", nil, nil
	refused := r.Permit(d, d.ReviewerGroups, g.noSelfApproval)
	if refused == nil {
		return nil
	}
	own := refused
	for _, name := range g.principals(d.ReviewerID) {
		standing, known := g.reviewer(name)
		if !known || !approvals.MemberOf(standing.Groups, r.Reviewers) {
			continue
		}
		d.OnBehalfOf, d.OnBehalfUser, d.OnBehalfGroups = name, standing.User, standing.Groups
		if refused = r.Permit(d, standing.Groups, g.noSelfApproval); refused == nil {
			return nil
		}
	}
	if again := (*approvals.InvalidError)(nil); errors.As(own, &again) { // the reviewer has approved already
		return own
	}
	return refused
}

// CanApprove reports whether [Gate.Decide] would take an approval of a request that
// waits from the reviewer whom d names.
func (g *Gate) CanApprove(r *approvals.Request, d approvals.Decision) bool {
	d.Action = approvals.ActionApprove
	return !r.Status.Final() && g.mayDecide(r, &d) == nil
}
