package grants

import (
	"github.com/heldcall/heldcall/approvals"
)

// rights decides who may allow what: see [Options].
type rights struct {
	noSelfApproval bool
	principals     func() []approvals.Principal
	profile        func(reviewer string) (approvals.ReviewerProfile, bool)
}

// check refuses a grant that allows calls of agents that act for the reviewer, or for the
// reviewer in whose place they decide: they may not approve these calls either.
func (r *rights) check(g *approvals.Grant, by approvals.Decision) error {
	if !r.noSelfApproval || g.Effect != approvals.GrantAllow {
		return nil
	}
	if by.ReviewerUser == "" {
		known, _ := r.profile(by.ReviewerID)
		by.ReviewerUser = known.User
	}
	forWhom, _ := r.profile(by.OnBehalfOf)
	own := func(user string) bool { return by.IsPerson(user) || approvals.SamePerson(forWhom.User, user) }
	for _, p := range append(r.principals(), g.Principal) {
		if coversUser(g, p) && own(p.User) {
			return approvals.Forbidden(by.ReviewerID, "the grant would allow calls of agents that act for %s, so another reviewer grants it (or the configuration allows it: console.self_approval)", p.User)
		}
	}
	return nil
}

// coversUser reports whether the scope contains calls of agents that act for the user of a
// principal.
func coversUser(g *approvals.Grant, p approvals.Principal) bool {
	return g.Principal.Tenant == p.Tenant && (g.Scope == approvals.GrantTenant || g.Principal.User == p.User)
}
