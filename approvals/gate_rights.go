package approvals

import (
	"fmt"
	"slices"
	"strings"
)

// EveryGroup in the groups of a reviewer stands for all of them.
const EveryGroup = "*"

// mayDecide reports whether a reviewer may take this decision on this request:
// as a member of one of its groups, where it names any, and, where people must
// not approve what their own agents ask, as another person than its principal's
// user.
func (g *Gate) mayDecide(r *Request, d *Decision) error {
	if len(r.Reviewers) > 0 && !memberOf(d.ReviewerGroups, r.Reviewers) {
		return &ForbiddenError{d.ReviewerID, "members of " + strings.Join(r.Reviewers, " or ") + " decide this request"}
	}
	if g.noSelfApproval && approves(d.Action) && d.isPerson(r.Principal.User) {
		return &ForbiddenError{d.ReviewerID, fmt.Sprintf("the agent acts for %s, so another reviewer approves this request", r.Principal.User)}
	}
	return nil
}

// memberOf reports whether one of the groups is among those that are named.
func memberOf(groups, named []string) bool {
	return slices.ContainsFunc(groups, func(group string) bool {
		return group == EveryGroup || slices.Contains(named, group)
	})
}

// isPerson reports whether the reviewer is who agents know as the user. Letter
// case is no difference between people.
func (d *Decision) isPerson(user string) bool {
	return user != "" && (strings.EqualFold(d.ReviewerID, user) || strings.EqualFold(d.ReviewerUser, user))
}

// samePerson reports whether two decisions are of one person, under whatever
// name.
func (d *Decision) samePerson(other *Decision) bool {
	return d.isPerson(other.ReviewerID) || d.isPerson(other.ReviewerUser)
}
