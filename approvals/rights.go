package approvals

import (
	"fmt"
	"slices"
	"strings"
)

// EveryGroup in the groups of a reviewer stands for all of them.
const EveryGroup = "*"

// Permit refuses a decision by somebody who is not in the right groups, an approval by
// the principal's user where noSelfApproval is set, and a second approval of the same
// person. Of an approval it notes for which of the request's demands it counts. The
// error is a [*ForbiddenError] or an [*InvalidError].
func (r *Request) Permit(d *Decision, groups []string, noSelfApproval bool) error {
	if len(r.Reviewers) > 0 && !MemberOf(groups, r.Reviewers) {
		return &ForbiddenError{d.ReviewerID, "members of " + strings.Join(r.Reviewers, " or ") + " decide this request"}
	}
	if user := r.Principal.User; noSelfApproval && approves(d.Action) && r.IsOwn(d) {
		return &ForbiddenError{d.ReviewerID, fmt.Sprintf("the agent acts for %s, so another reviewer approves this request", user)}
	}
	switch d.Action {
	case ActionApprove:
		return r.fill(d, groups)
	case ActionModifyArgs, ActionAllowAlways, ActionDenyAlways:
		return r.wholly(d, groups)
	}
	return nil
}

// IsOwn reports whether who takes a decision, or in whose place, is the user whom the
// agent of the request acts for. Their approval is refused unless the configuration
// permits it (console.self_approval).
func (r *Request) IsOwn(d *Decision) bool { return d.IsPerson(r.Principal.User) }

// MemberOf reports whether one of the groups is among those that are named.
func MemberOf(groups, named []string) bool {
	return slices.ContainsFunc(groups, func(group string) bool {
		return group == EveryGroup || slices.Contains(named, group)
	})
}

// Rights are the groups by whose right the decision was taken.
func (d *Decision) Rights() []string {
	if d.OnBehalfOf != "" {
		return d.OnBehalfGroups
	}
	return d.ReviewerGroups
}

// people are the names and users of who decides, and of whoever they decide for.
func (d *Decision) people() []string {
	return []string{d.ReviewerID, d.ReviewerUser, d.OnBehalfOf, d.OnBehalfUser}
}

// IsPerson reports whether the decision is that of somebody, by their name or
// user, or taken in their place.
func (d *Decision) IsPerson(name string) bool {
	return slices.ContainsFunc(d.people(), func(one string) bool { return SamePerson(one, name) })
}

// countsAs reports whether two decisions are one approval: of one person, or in
// the place of one.
func (d *Decision) countsAs(other *Decision) bool {
	return slices.ContainsFunc(other.people(), d.IsPerson)
}

// SamePerson compares names; letter case is no difference between people.
func SamePerson(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
