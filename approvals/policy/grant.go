package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/resource"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// CompiledGrant is a grant whose patterns have been read.
type CompiledGrant struct {
	grant    approvals.Grant
	patterns []*rule.Pattern
}

// CompileGrant reads the patterns of a grant. The error is about a pattern
// that is not valid, or that allows every tool.
func CompileGrant(g approvals.Grant) (*CompiledGrant, error) {
	c := &CompiledGrant{grant: g}
	about := &rule.Granted{ID: g.ID, Scope: g.Scope, Deny: g.Effect == approvals.GrantDeny}
	about.ByHand, about.Groups = g.RequestID == "", g.Groups
	if g.ExpiresAt != nil {
		about.Expires = *g.ExpiresAt
	}
	for _, text := range g.Patterns {
		p, err := rule.NewPattern(text)
		if err != nil {
			return nil, fmt.Errorf("%q %w", text, err)
		}
		if !about.Deny && p.Tool.TextLen() == 0 {
			return nil, fmt.Errorf("%q allows every tool: name one", text)
		}
		p.Where = "grant " + g.ID
		p.Rule = &rule.Rule{Grant: about, Reason: reasonOf(&g, text)}
		c.patterns = append(c.patterns, p)
	}
	return c, nil
}

// reasonOf returns in one sentence why a grant decides.
func reasonOf(g *approvals.Grant, pattern string) string {
	var b strings.Builder
	b.WriteString("A grant")
	if g.GrantedBy != "" {
		b.WriteString(" of " + match.Visible(g.GrantedBy))
	}
	if g.RequestID != "" {
		b.WriteString(", from request " + match.Visible(g.RequestID) + ",")
	}
	verb := " allows "
	if g.Effect == approvals.GrantDeny {
		verb = " denies "
	}
	b.WriteString(verb + match.Visible(pattern))
	if g.ExpiresAt != nil {
		b.WriteString(" until " + g.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return b.String() + "."
}

// CheckGrant returns why a grant cannot do what it is meant for under this policy:
// the argument of a pattern does not fit what the tool's resource is, or would
// let other programs run than the one it names.
func (p *Policy) CheckGrant(c *CompiledGrant) error {
	allows := c.grant.Effect == approvals.GrantAllow
	for _, one := range c.patterns {
		kinds := p.rules.KindsFor(one)
		err := one.Fits(kinds, allows)
		if err == nil && allows && slices.Contains(kinds, resource.Shell) {
			err = one.CheckProgram()
		}
		if err != nil {
			return fmt.Errorf("%q %w", one.Text, err)
		}
	}
	return nil
}

// IsFor reports whether any pattern of the grant is for a tool of a name. Which
// tools run shell scripts is known here only of those with a built-in profile.
func (c *CompiledGrant) IsFor(tool string) bool {
	k := resource.Plain
	if t := resource.KnownProfiles().Find(tool); t != nil {
		k = t.Kind
	}
	return slices.ContainsFunc(c.patterns, func(p *rule.Pattern) bool { return p.IsFor(tool, k) })
}

// Covers reports whether a grant alone would decide a call, whosever it is: one
// that denies matches it, one that allows covers all of it. The policy's
// rules are not asked.
func (p *Policy) Covers(c *CompiledGrant, call Call) bool {
	grant := c.grant
	call.Principal, call.Session = grant.Principal, grant.SessionID
	e := p.With(NewGrants(c)).evaluate(call)
	if grant.Effect == approvals.GrantDeny {
		return e.findDenyIn(e.granted[0].deny).match == match.Yes
	}
	_, ok := e.findAllow(e.granted[0].allow)
	return ok
}

// Unrelated is the first pattern of a grant that has nothing to do with a call, or
// "": each that denies matches it by itself, each that allows covers a part of it,
// such as one command of a script.
func (p *Policy) Unrelated(c *CompiledGrant, call Call) string {
	e := p.evaluate(call)
	related := e.partly
	if c.grant.Effect == approvals.GrantDeny {
		related = func(one *rule.Pattern) bool { return e.match(one) == match.Yes }
	}
	for _, one := range c.patterns {
		if !related(one) {
			return one.Text
		}
	}
	return ""
}
