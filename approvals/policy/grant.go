package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// CompiledGrant is a grant with its patterns compiled.
type CompiledGrant struct {
	grant    approvals.Grant
	patterns []*rule.Pattern
	folder   workspace.Folder // see [approvals.Grant.Folder]
}

// CompileGrant compiles the patterns or the folder of a grant. It returns an error if one is not valid, or allows
// every tool.
func CompileGrant(g approvals.Grant) (*CompiledGrant, error) {
	c := &CompiledGrant{grant: g}
	about := &rule.Granted{ID: g.ID, Scope: g.Scope, Deny: g.Effect == approvals.GrantDeny}
	about.ByHand, about.Groups = g.RequestID == "", g.Groups
	if g.ExpiresAt != nil {
		about.Expires = *g.ExpiresAt
	}
	if g.Folder != "" {
		if match.LocationOf(filepath.ToSlash(g.Folder)).Anchor == "" {
			return nil, fmt.Errorf("%q is not absolute: write the whole path", g.Folder)
		}
		var err error
		if c.folder, err = workspace.NewFolder(g.Folder, ""); err != nil {
			return nil, err
		}
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

// Grant returns the grant without its compiled form.
func (c *CompiledGrant) Grant() approvals.Grant { return c.grant }

// Holds returns the first of some files that is in the folder of the grant, or "".
func (c *CompiledGrant) Holds(files ...string) string {
	folder := workspace.New([]workspace.Folder{c.folder})
	for _, file := range files {
		absolute, err := filepath.Abs(file)
		if err != nil || folder.Holds(absolute) != "" {
			return file
		}
	}
	return ""
}

// CheckGrant returns an error if a pattern of a grant does not fit the tool's resource, or would
// allow programs that it does not name.
func (p *Policy) CheckGrant(c *CompiledGrant) error {
	allows := c.grant.Effect == approvals.GrantAllow
	for _, one := range c.patterns {
		kinds := p.rules.KindsFor(one)
		err := one.Fits(kinds, allows)
		if err == nil && allows && slices.Contains(kinds, call.Shell) {
			err = one.CheckProgram()
		}
		if err != nil {
			return fmt.Errorf("%q %w", one.Text, err)
		}
	}
	return nil
}

// IsFor reports whether a pattern of the grant is for a tool. Only tools with a built-in profile
// are known as shells here.
func (c *CompiledGrant) IsFor(tool string) bool {
	k := call.Plain
	if t := call.KnownProfiles().Find(tool); t != nil {
		k = t.Kind
	}
	return slices.ContainsFunc(c.patterns, func(p *rule.Pattern) bool { return p.IsFor(tool, k) })
}

// Covers reports whether a grant alone would decide a call of any principal. The policy's rules are
// not compared.
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

// Unrelated returns the first pattern of a grant that does not match a call, or does not cover a
// part of it, or "".
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
