package policy

import (
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Patterns that allow are told apart by more than those that deny, which must
// see through quoting, folders and letter case: one of commands by the words in
// front of its first *, one of paths by its first segment. Nor are they all looked
// at where a call may hide what it does: such a call they do not cover.

// allowKeys are those of which a resource of a kind has one among its own if an
// allow pattern covers it. There are none where the pattern may cover any.
func (p *pattern) allowKeys(k kind) []string {
	switch {
	case p.any || p.star || p.rule.wide:
	case k == asShell && p.shell != nil:
		if key := p.shell.Key(); key != "" {
			return []string{key}
		}
	case k == asPath && p.path != nil && !p.path.Fixed:
		if first := match.FirstSegment(p.path.Lower); !strings.ContainsAny(first, `*\`) {
			return []string{rootKey(&p.path.Location, first)}
		}
	}
	return p.keys(k)
}

// rootKey is the key of the paths below a first segment.
func rootKey(l *match.Location, first string) string { return "\x00" + l.Anchor + "\x00" + first }

// addAllowKeys adds what patterns that allow are looked up by.
func (s *subject) addAllowKeys(r *reading) {
	switch s.kind {
	case asPath:
		s.addKey(rootKey(&r.path, match.FirstSegment(r.path.Lower)))
	case asShell:
		s.keys = r.script.AppendAllowKeys(s.keys)
	}
}
