package policy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Grants are compiled grants: see [Policy.With]. A set is immutable and safe for concurrent use; a
// changed set is a new one. A nil *Grants is empty.
type Grants struct {
	byID   map[string]*CompiledGrant
	scopes map[scope]*grantSet
	// Deny patterns of grants for sessions, for [Policy.allowsAny], which knows no session.
	inSessions map[approvals.Principal]*rule.Index
}

// scope is the calls to which grants apply.
type scope struct {
	scope     approvals.GrantScope
	principal approvals.Principal
	session   string
}

// scopeOf returns the scope of a kind that contains the calls of a principal in a session.
func scopeOf(kind approvals.GrantScope, p approvals.Principal, session string) scope {
	g := approvals.Grant{Scope: kind, Principal: p, SessionID: session}
	g.Narrow()
	return scope{kind, g.Principal, g.SessionID}
}

func (c *CompiledGrant) in() scope {
	return scopeOf(c.grant.Scope, c.grant.Principal, c.grant.SessionID)
}

// grantSet is the grants of one scope.
type grantSet struct {
	scope       approvals.GrantScope
	deny, allow *rule.Index
	windows     []*CompiledGrant // trust windows
	folders     []*CompiledGrant // of workspaces
}

// NewGrants makes a set of grants. Their order means nothing.
func NewGrants(grants ...*CompiledGrant) *Grants {
	g := &Grants{byID: map[string]*CompiledGrant{}, scopes: map[scope]*grantSet{}, inSessions: map[approvals.Principal]*rule.Index{}}
	in := map[scope][]*CompiledGrant{}
	for _, c := range grants {
		g.byID[c.grant.ID] = c
	}
	for _, c := range g.byID {
		in[c.in()] = append(in[c.in()], c)
	}
	sessions := map[approvals.Principal][]*CompiledGrant{}
	for at, all := range in {
		g.scopes[at] = newGrantSet(at.scope, all)
		if at.scope == approvals.GrantSession {
			sessions[at.principal] = append(sessions[at.principal], all...)
		}
	}
	for principal, all := range sessions {
		g.inSessions[principal] = newGrantSet(approvals.GrantSession, all).deny
	}
	return g
}

// newGrantSet indexes copies of the patterns of grants, as an index sets ranks.
func newGrantSet(kind approvals.GrantScope, grants []*CompiledGrant) *grantSet {
	var deny, allow []*rule.Pattern
	for _, c := range grants {
		for _, p := range c.patterns {
			one := *p
			if p.Rule.Grant.Deny {
				deny = append(deny, &one)
			} else {
				allow = append(allow, &one)
			}
		}
	}
	for _, list := range [][]*rule.Pattern{deny, allow} {
		slices.SortFunc(list, byExactness)
	}
	windows := slices.DeleteFunc(slices.Clone(grants), func(c *CompiledGrant) bool { return !c.grant.Window })
	folders := slices.DeleteFunc(slices.Clone(grants), func(c *CompiledGrant) bool { return c.grant.Folder == "" })
	return &grantSet{kind, rule.NewIndex(deny), rule.NewAllowIndex(allow), windows, folders}
}

// byExactness orders patterns of grants: the longest decides, then the newest.
func byExactness(a, b *rule.Pattern) int {
	return cmp.Or(cmp.Compare(len(b.Text), len(a.Text)), cmp.Compare(b.Rule.Grant.ID, a.Rule.Grant.ID), cmp.Compare(a.Text, b.Text))
}

// Len is how many grants there are.
func (g *Grants) Len() int {
	if g == nil {
		return 0
	}
	return len(g.byID)
}

// FolderOf returns the folder of a grant that adds it to a workspace and holds a file, "" if none does.
func (g *Grants) FolderOf(file string) string {
	if g == nil {
		return ""
	}
	for _, c := range g.byID {
		if c.grant.Folder != "" && c.Holds(file) != "" {
			return c.grant.Folder
		}
	}
	return ""
}

// And returns the set with one more grant, which replaces one with the same id.
func (g *Grants) And(c *CompiledGrant) *Grants {
	if g == nil {
		return NewGrants(c)
	}
	next := g.Without(c.grant.ID).clone()
	next.byID[c.grant.ID] = c
	next.renew(c.in())
	return next
}

// Without is the set without the grant of an id.
func (g *Grants) Without(id string) *Grants {
	if g == nil || g.byID[id] == nil {
		return g
	}
	next := g.clone()
	gone := next.byID[id]
	delete(next.byID, id)
	next.renew(gone.in())
	return next
}

func (g *Grants) clone() *Grants {
	return &Grants{maps.Clone(g.byID), maps.Clone(g.scopes), maps.Clone(g.inSessions)}
}

// renew makes the index of a scope again, in a set that is not in use yet.
func (g *Grants) renew(at scope) {
	var own, sessions []*CompiledGrant
	for _, c := range g.byID {
		in := c.in()
		if in == at {
			own = append(own, c)
		}
		if in.scope == approvals.GrantSession && in.principal == at.principal {
			sessions = append(sessions, c)
		}
	}
	if delete(g.scopes, at); len(own) > 0 {
		g.scopes[at] = newGrantSet(at.scope, own)
	}
	if at.scope != approvals.GrantSession {
		return
	}
	if delete(g.inSessions, at.principal); len(sessions) > 0 {
		g.inSessions[at.principal] = newGrantSet(approvals.GrantSession, sessions).deny
	}
}

// of finds the sets that count for the calls of a principal in a session.
func (g *Grants) of(p approvals.Principal, session string) []*grantSet {
	if g.Len() == 0 {
		return nil
	}
	var found []*grantSet
	for _, kind := range approvals.GrantScopes() {
		if set := g.scopes[scopeOf(kind, p, session)]; set != nil {
			found = append(found, set)
		}
	}
	return found
}

// mayDeny reports whether a grant denies calls of a principal's tool, in any session.
func (g *Grants) mayDeny(p approvals.Principal, tool string, k call.Kind) bool {
	if g.Len() == 0 {
		return false
	}
	return g.inSessions[p].AnyFor(tool, k) || slices.ContainsFunc(g.of(p, ""), func(set *grantSet) bool { return set.deny.AnyFor(tool, k) })
}

// foldersOf returns the grants that add folders to the workspace of the run of a call.
func (g *Grants) foldersOf(c *Call) (found []*CompiledGrant) {
	for _, set := range g.of(c.Principal, c.Session) {
		for _, folder := range set.folders {
			if folder.isOpenFor(c) {
				found = append(found, folder)
			}
		}
	}
	return found
}

func idsOf(grants []*CompiledGrant) []string {
	ids := make([]string, len(grants))
	for i, g := range grants {
		ids[i] = g.grant.ID
	}
	return ids
}
