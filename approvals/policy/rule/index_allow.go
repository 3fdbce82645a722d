package rule

import (
	"github.com/heldcall/heldcall/approvals/policy/resource"

	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// allowKeys are those of which a resource of a kind has one among its own if an
// allow pattern covers it. There are none where the pattern may cover any.
//
// They distinguish more than the keys of patterns that deny, which must see through
// quoting, folders and letter case: a pattern for commands has the words in front of its
// first *, one for paths its first segment. Nor are all allow patterns compared with a
// call that may hide what it does: they do not cover it.
func (p *Pattern) allowKeys(k resource.Kind) []string {
	switch {
	case p.Any || p.argument.star || p.Rule.MatchesArguments:
	case k == resource.Shell && p.argument.shell != nil:
		if key := p.argument.shell.Key(); key != "" {
			return []string{key}
		}
	case k == resource.Path && p.argument.path != nil && !p.argument.path.Fixed:
		if first := match.FirstSegment(p.argument.path.Lower); !strings.ContainsAny(first, `*\`) {
			return []string{resource.RootKey(&p.argument.path.Location, first)}
		}
	}
	return p.keys(k)
}
