package grants

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

// mayGrant keeps a reviewer from granting to agents that act for themselves, or for
// the reviewer in whose place they decide, what they may not approve either.
func (b *Grants) mayGrant(g *approvals.Grant, by approvals.Decision) error {
	if !b.noSelfApproval || g.Effect != approvals.GrantAllow {
		return nil
	}
	if by.ReviewerUser == "" {
		known, _ := b.standing(by.ReviewerID)
		by.ReviewerUser = known.User
	}
	forWhom, _ := b.standing(by.OnBehalfOf)
	own := func(user string) bool { return by.IsPerson(user) || approvals.SamePerson(forWhom.User, user) }
	for _, p := range append(slices.Clone(b.principals), g.Principal) {
		if coversUser(g, p) && own(p.User) {
			return &approvals.ForbiddenError{Reviewer: by.ReviewerID, Reason: fmt.Sprintf("the grant would allow calls of agents that act for %s, so another reviewer grants it (or the configuration allows it: console.self_approval)", p.User)}
		}
	}
	return nil
}

// coversUser reports whether any calls of agents that act for a principal's user are
// within the scope.
func coversUser(g *approvals.Grant, p approvals.Principal) bool {
	return g.Principal.Tenant == p.Tenant && (g.Scope == approvals.GrantTenant || g.Principal.User == p.User)
}
