package app

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Vacant returns a warning for each group of a policy without a member in the configuration:
// mostly a misspelt name, with which a request expires because no reviewer may answer it.
// Without reviewers `local` is in all groups.
func (c *ConsoleConfig) Vacant(p *policy.Policy) []string {
	if !c.asks() {
		return nil
	}
	var vacant []string
	groups := p.Groups()
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if !c.manned(group) {
			vacant = append(vacant, fmt.Sprintf(vacantGroup, groups[group], group))
		}
	}
	return vacant
}

const (
	vacantGroup  = "%s names the group %q, which has no member who may decide: correct the name, or add members in console.reviewers or console.oidc.memberships"
	unaskedGroup = "%s names the group %q, which no rule asks, so the route matches no request: correct the name, or name the group in a rule's reviewers or escalate"
)

// VacantRoutes returns a warning for each group in notify.routes that no rule of the policies
// asks, or that has no member: mostly a misspelt name, with which requests are announced
// elsewhere, or not at all.
func (c *Config) VacantRoutes(policies ...*policy.Policy) []string {
	asked := map[string]string{}
	for _, p := range policies {
		maps.Copy(asked, p.Groups())
	}
	var vacant []string
	for i, route := range c.Notify.Routes {
		for j, group := range route.Groups {
			key := strictyaml.Index(strictyaml.Index("notify.routes", i)+".groups", j)
			if asked[group] == "" {
				vacant = append(vacant, fmt.Sprintf(unaskedGroup, key, group))
			} else if c.Console.asks() && !c.Console.manned(group) {
				vacant = append(vacant, fmt.Sprintf(vacantGroup, key, group))
			}
		}
	}
	return vacant
}

// manned reports whether anybody who may decide is in a group.
func (c *ConsoleConfig) manned(group string) bool {
	var groups []string
	for _, reviewer := range c.Reviewers {
		if reviewers.Role(reviewer.Role) != reviewers.RoleViewer {
			groups = append(groups, reviewer.Groups...)
		}
	}
	for _, membership := range c.OIDC.Memberships {
		groups = append(groups, membership.Groups...)
	}
	return slices.Contains(groups, group) || slices.Contains(groups, approvals.EveryGroup)
}
