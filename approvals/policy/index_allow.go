package policy

import (
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
func (p *pattern) allowKeys(k kind) []string {
	switch {
	case p.any || p.star || p.rule.wide:
	case k == asShell && p.shell != nil:
		if key := p.shell.Key(); key != "" {
			return []string{key}
		}
	case k == asPath && p.path != nil && !p.path.Fixed:
		if first := match.FirstSegment(p.path.Lower); !strings.ContainsAny(first, `*\`) {
			return []string{RootKey(&p.path.Location, first)}
		}
	}
	return p.keys(k)
}
