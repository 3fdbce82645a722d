package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// CompiledGrant is a grant whose patterns have been read.
type CompiledGrant struct {
	grant    approvals.Grant
	patterns []*pattern
}

// granted is what the patterns of one grant have in common beside a rule's.
type granted struct {
	id      string
	scope   approvals.GrantScope
	deny    bool
	expires time.Time // zero: never
	byHand  bool      // an admin wrote it; else
	groups  []string  // by whose right it was decided
}

// CompileGrant reads the patterns of a grant. It says what is wrong with one that
// no policy would take: a pattern that is none, or that allows every tool.
func CompileGrant(g approvals.Grant) (*CompiledGrant, error) {
	c := &CompiledGrant{grant: g}
	about := &granted{id: g.ID, scope: g.Scope, deny: g.Effect == approvals.GrantDeny}
	about.byHand, about.groups = g.RequestID == "", g.Groups
	if g.ExpiresAt != nil {
		about.expires = *g.ExpiresAt
	}
	for _, text := range g.Patterns {
		p, err := newPattern(text)
		if err != nil {
			return nil, fmt.Errorf("%q %w", text, err)
		}
		if !about.deny && p.tool.TextLen() == 0 {
			return nil, fmt.Errorf("%q allows every tool: name one", text)
		}
		p.where = "grant " + g.ID
		p.rule = &rule{grant: about, reason: reasonOf(&g, text)}
		c.patterns = append(c.patterns, p)
	}
	return c, nil
}

// reasonOf says in one sentence why a grant decides.
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

// holds reports whether a grant is in force at a time. Where the time is not
// known, a deny holds and an allow that ends does not.
func (g *granted) holds(now time.Time) bool {
	switch {
	case g.expires.IsZero():
		return true
	case now.IsZero():
		return g.deny
	}
	return now.Before(g.expires)
}

// liftsAll reports whether the grant is of somebody who could have decided alone what
// each of some ask patterns asks.
func (g *granted) liftsAll(asks []*pattern) bool {
	return g.byHand || !slices.ContainsFunc(asks, func(p *pattern) bool {
		return p.rule.required > 1 || len(p.rule.reviewers) > 0 && !approvals.MemberOf(g.groups, p.rule.reviewers)
	})
}

var (
	errEveryCommand = errors.New("allows every command: name the program, as in bash(npm run lint)")
	errNoProgram    = errors.New("does not name the program that it allows: its first word may have no *")
)

// checkProgram refuses an allow pattern under which other programs could run, of
// a tool that runs shell scripts.
func (p *pattern) checkProgram() error {
	switch {
	case p.any || p.star:
		return errEveryCommand
	case p.shell != nil && !p.shell.NamesProgram():
		return errNoProgram
	}
	return nil
}

// CheckGrant says why a grant cannot do what it is meant for under this policy:
// the argument of a pattern does not fit what the tool's resource is, or would
// let other programs run than the one it names.
func (p *Policy) CheckGrant(c *CompiledGrant) error {
	allows := c.grant.Effect == approvals.GrantAllow
	for _, one := range c.patterns {
		kinds := p.kindsFor(one)
		err := one.fits(kinds, allows)
		if err == nil && allows && slices.Contains(kinds, asShell) {
			err = one.checkProgram()
		}
		if err != nil {
			return fmt.Errorf("%q %w", one.text, err)
		}
	}
	return nil
}

// IsFor reports whether any pattern of the grant is for a tool of a name. Which
// tools run shell scripts is known here only of those with a built-in profile.
func (c *CompiledGrant) IsFor(tool string) bool {
	k := asPlain
	if t := knownProfiles().find(tool); t != nil {
		k = t.kind
	}
	return slices.ContainsFunc(c.patterns, func(p *pattern) bool { return p.isFor(tool, k) })
}

// Covers reports whether a grant alone would decide a call, whosever it is: one
// that denies matches it, one that allows covers all of it. What the policy's
// rules say of the call is not asked.
func (p *Policy) Covers(c *CompiledGrant, call Call) bool {
	grant := c.grant
	call.Principal, call.Session = grant.Principal, grant.SessionID
	s := p.With(NewGrants(c)).newSubject(call)
	if grant.Effect == approvals.GrantDeny {
		return s.findDenyIn(s.granted[0].deny).match == match.Yes
	}
	_, ok := s.findAllow(s.granted[0].allow)
	return ok
}

// Unrelated is the first pattern of a grant that has nothing to do with a call, or
// "": each that denies matches it by itself, each that allows covers a part of it,
// such as one command of a script.
func (p *Policy) Unrelated(c *CompiledGrant, call Call) string {
	s := p.newSubject(call)
	related := s.partly
	if c.grant.Effect == approvals.GrantDeny {
		related = func(one *pattern) bool { return s.match(one) == match.Yes }
	}
	for _, one := range c.patterns {
		if !related(one) {
			return one.text
		}
	}
	return ""
}
