package rule

import (
	"errors"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Granted describes the grant of a pattern.
type Granted struct {
	ID      string
	Scope   approvals.GrantScope
	Deny    bool
	Expires time.Time // zero: never
	ByHand  bool      // an admin wrote it; else
	Groups  []string  // by whose right it was decided
}

// Holds reports whether a grant is in force. At an unknown time a deny is, and an allow that
// expires is not.
func (g *Granted) Holds(now time.Time) bool {
	switch {
	case g.Expires.IsZero():
		return true
	case now.IsZero():
		return g.Deny
	}
	return now.Before(g.Expires)
}

// OverridesAll reports whether the grant's author could have decided alone what the rules of some
// ask patterns require.
func (g *Granted) OverridesAll(asks []*Pattern) bool {
	return g.ByHand || !slices.ContainsFunc(asks, func(p *Pattern) bool {
		return p.Rule.Required > 1 || (len(p.Rule.Reviewers) > 0 && !approvals.MemberOf(g.Groups, p.Rule.Reviewers))
	})
}

var (
	errEveryCommand = errors.New("allows every command: name the program, as in bash(npm run lint)")
	errNoProgram    = errors.New("does not name the program that it allows: its first word may have no *")
)

// CheckProgram returns an error if an allow pattern for scripts may allow several programs.
func (p *Pattern) CheckProgram() error {
	switch {
	case p.Any || p.argument.star:
		return errEveryCommand
	case p.argument.shell != nil && !p.argument.shell.NamesProgram():
		return errNoProgram
	}
	return nil
}
