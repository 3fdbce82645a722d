package approvals

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// EveryGroup in the groups of a reviewer stands for all of them.
const EveryGroup = "*"

// mayDecide reports whether a reviewer may take this decision on this request: as
// a member of one of its groups, where it names any, or in the place of one who
// is. It notes in whose place they decide, the first who can, and of an approval for
// which of the request's demands it counts.
func (g *Gate) mayDecide(r *Request, d *Decision) error {
	d.OnBehalfOf, d.OnBehalfUser, d.OnBehalfGroups, d.Fills = "", "", nil, nil
	refused := g.mayAs(r, d, d.ReviewerGroups)
	if refused == nil {
		return nil
	}
	own := refused
	for _, name := range g.principals(d.ReviewerID) {
		standing, known := g.reviewer(name)
		if !known || !MemberOf(standing.Groups, r.Reviewers) {
			continue
		}
		d.OnBehalfOf, d.OnBehalfUser, d.OnBehalfGroups = name, standing.User, standing.Groups
		if refused = g.mayAs(r, d, standing.Groups); refused == nil {
			return nil
		}
	}
	if again := (*InvalidError)(nil); errors.As(own, &again) { // the reviewer has approved already
		return own
	}
	return refused
}

// CanApprove reports whether [Gate.Decide] would take an approval of a request that
// waits from the reviewer whom d names.
func (g *Gate) CanApprove(r *Request, d Decision) bool {
	d.Action = ActionApprove
	return !r.Status.Final() && g.mayDecide(r, &d) == nil
}

// mayAs refuses a decision of who has not the groups for it, an approval of the
// principal's user, where people must not approve what their own agents ask, and a
// second one of the same person.
func (g *Gate) mayAs(r *Request, d *Decision, groups []string) error {
	if len(r.Reviewers) > 0 && !MemberOf(groups, r.Reviewers) {
		return &ForbiddenError{d.ReviewerID, "members of " + strings.Join(r.Reviewers, " or ") + " decide this request"}
	}
	if user := r.Principal.User; g.noSelfApproval && approves(d.Action) && r.IsOwn(d) {
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
func (r *Request) IsOwn(d *Decision) bool { return d.isPerson(r.Principal.User) }

// MemberOf reports whether one of the groups is among those that are named.
func MemberOf(groups, named []string) bool {
	return slices.ContainsFunc(groups, func(group string) bool {
		return group == EveryGroup || slices.Contains(named, group)
	})
}

// rights are the groups by whose right the decision was taken.
func (d *Decision) rights() []string {
	if d.OnBehalfOf != "" {
		return d.OnBehalfGroups
	}
	return d.ReviewerGroups
}

// people are the names and users of who decides, and of whoever they decide for.
func (d *Decision) people() []string {
	return []string{d.ReviewerID, d.ReviewerUser, d.OnBehalfOf, d.OnBehalfUser}
}

// isPerson reports whether the decision is that of somebody, by their name or
// user, or taken in their place.
func (d *Decision) isPerson(name string) bool {
	return slices.ContainsFunc(d.people(), func(one string) bool { return samePerson(one, name) })
}

// countsAs reports whether two decisions are one approval: of one person, or in
// the place of one.
func (d *Decision) countsAs(other *Decision) bool {
	return slices.ContainsFunc(other.people(), d.isPerson)
}

// samePerson compares names; letter case is no difference between people.
func samePerson(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
