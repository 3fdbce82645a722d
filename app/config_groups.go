package app

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// Vacant says of each group that a policy names that nobody in the configuration is in
// it: a misspelt name, mostly, because of which a request runs out without anybody having
// been able to answer. Without reviewers `local` is in all groups.
func (c *ConsoleConfig) Vacant(p *policy.Policy) []string {
	if len(c.Reviewers) == 0 && !c.OIDC.On() {
		return nil
	}
	manned := c.manned()
	if slices.Contains(manned, approvals.EveryGroup) {
		return nil
	}
	var vacant []string
	groups := p.Groups()
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if !slices.Contains(manned, group) {
			vacant = append(vacant, fmt.Sprintf("%s names the group %q, and nobody who may decide is in it: correct it there, or give it to somebody in console.reviewers or console.oidc.memberships", groups[group], group))
		}
	}
	return vacant
}

// manned are the groups of all who may decide.
func (c *ConsoleConfig) manned() []string {
	var groups []string
	for _, reviewer := range c.Reviewers {
		if reviewers.Role(reviewer.Role) != reviewers.RoleViewer {
			groups = append(groups, reviewer.Groups...)
		}
	}
	for _, membership := range c.OIDC.Memberships {
		groups = append(groups, membership.Groups...)
	}
	return groups
}
