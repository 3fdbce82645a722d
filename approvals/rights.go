package approvals

import (
	"slices"
	"strings"
)

// EveryGroup in the groups of a reviewer means all groups.
const EveryGroup = "*"

// IsOwn reports whether the reviewer, or the person in whose place they decide, is the
// user for whom the agent of the request acts. Their approval is refused unless the
// configuration permits it (console.self_approval).
func (r *Request) IsOwn(d *Decision) bool { return d.IsPerson(r.Principal.User) }

// MemberOf reports whether one of the groups is among those that are named.
func MemberOf(groups, named []string) bool {
	return slices.ContainsFunc(groups, func(group string) bool {
		return group == EveryGroup || slices.Contains(named, group)
	})
}

// Rights returns the groups that gave the right to the decision.
func (d *Decision) Rights() []string {
	if d.OnBehalfOf != "" {
		return d.OnBehalfGroups
	}
	return d.ReviewerGroups
}

// people returns the names and users of the reviewer and of the person in whose place
// they decide.
func (d *Decision) people() []string {
	return []string{d.ReviewerID, d.ReviewerUser, d.OnBehalfOf, d.OnBehalfUser}
}

// IsPerson reports whether the decision was taken by a person, given by name or user, or
// in their place.
func (d *Decision) IsPerson(name string) bool {
	return slices.ContainsFunc(d.people(), func(one string) bool { return SamePerson(one, name) })
}

// countsAs reports whether two decisions count as one approval: they are by one person,
// or in the place of one.
func (d *Decision) countsAs(other *Decision) bool {
	return slices.ContainsFunc(other.people(), d.IsPerson)
}

// SamePerson reports whether two names are equal, ignoring case, and not empty.
func SamePerson(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
