package approvals

import (
	"fmt"
	"slices"
	"strings"
)

// EveryGroup in the groups of a reviewer stands for all of them.
const EveryGroup = "*"

// mayDecide reports whether a reviewer may take this decision on this request:
// as a member of one of its groups, where it names any, or in the place of one
// who is; and, where people must not approve what their own agents ask, as
// another person than its principal's user. It notes in whose place they decide.
func (g *Gate) mayDecide(r *Request, d *Decision) error {
	forWhom := Standing{}
	if len(r.Reviewers) > 0 && !memberOf(d.ReviewerGroups, r.Reviewers) {
		var delegated bool
		if d.OnBehalfOf, forWhom, delegated = g.delegator(d.ReviewerID, r.Reviewers); !delegated {
			return &ForbiddenError{d.ReviewerID, "members of " + strings.Join(r.Reviewers, " or ") + " decide this request"}
		}
	}
	if user := r.Principal.User; g.noSelfApproval && approves(d.Action) && (d.isPerson(user) || samePerson(forWhom.User, user)) {
		return &ForbiddenError{d.ReviewerID, fmt.Sprintf("the agent acts for %s, so another reviewer approves this request", user)}
	}
	return nil
}

// delegator is a member of one of the groups in whose place a reviewer may
// decide.
func (g *Gate) delegator(reviewer string, groups []string) (name string, standing Standing, ok bool) {
	for _, name := range g.principals(reviewer) {
		if standing, known := g.reviewer(name); known && memberOf(standing.Groups, groups) {
			return name, standing, true
		}
	}
	return "", Standing{}, false
}

// memberOf reports whether one of the groups is among those that are named.
func memberOf(groups, named []string) bool {
	return slices.ContainsFunc(groups, func(group string) bool {
		return group == EveryGroup || slices.Contains(named, group)
	})
}

// isPerson reports whether the decision is that of somebody, by their name or
// user, or taken in their place.
func (d *Decision) isPerson(name string) bool {
	return samePerson(d.ReviewerID, name) || samePerson(d.ReviewerUser, name) || samePerson(d.OnBehalfOf, name)
}

// countsAs reports whether two decisions are one approval: of one person, or in
// the place of one.
func (d *Decision) countsAs(other *Decision) bool {
	return d.isPerson(other.ReviewerID) || d.isPerson(other.ReviewerUser) || d.isPerson(other.OnBehalfOf)
}

// samePerson compares names; letter case is no difference between people.
func samePerson(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
