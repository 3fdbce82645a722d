package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"fmt"
	"slices"
)

// maxDoubts is of how many patterns that may match a reviewer is warned.
const maxDoubts = 5

// askMatching asks by the rules whose patterns match the call or may. What only may is a
// doubt: the reason, risk and title of its rule are not shown as facts.
func (s *subject) askMatching(asks []*pattern, denied finding) Verdict {
	sure := s.sure(asks)
	var by ground
	if len(sure) > 0 {
		by = sure[0].ground(Ask)
	} else {
		by = ground{action: Ask, rule: asks[0].where, reason: "A rule that asks may match this call."}
	}
	v := s.askByRules(by, asks, sure, denied)
	v.Flags = append(v.Flags, s.doubtsOf(asks)...)
	return v
}

// sure are the patterns that certainly match the call.
func (s *subject) sure(asks []*pattern) []*pattern {
	return slices.DeleteFunc(slices.Clone(asks), func(p *pattern) bool { return s.match(p) != match.Yes })
}

// doubtsOf warn the reviewer of each pattern that only may match, in one sentence each.
func (s *subject) doubtsOf(asks []*pattern) []string {
	var flags []string
	more := 0
	for _, p := range asks {
		switch {
		case s.match(p) == match.Yes:
		case len(flags) == maxDoubts:
			more++
		default:
			flags = append(flags, s.mayMatch(p, Ask))
		}
	}
	if more > 0 {
		flags = append(flags, fmt.Sprintf("May match %d more patterns of rules that ask.", more))
	}
	return flags
}

// mayMatch returns, in one sentence, which pattern of a rule or grant may match, in which list
// it is, and which part of the call decides it.
func (s *subject) mayMatch(p *pattern, does Action) string {
	return fmt.Sprintf("May match the %s pattern %s (%s): %s.", does, match.Quote(p.text), p.where, s.inDoubt(p))
}

// inDoubt returns, for a pattern that may match, which part of the call is not known for
// certain. It has no full stop.
func (s *subject) inDoubt(p *pattern) string {
	if len(s.doubts) > 0 {
		return match.SentencePart(s.doubts[0])
	}
	if !p.rule.wide {
		for i := range s.readings {
			if r := &s.readings[i]; s.matchReading(p, r) == match.Maybe {
				return s.partInDoubt(p, r)
			}
		}
	}
	if s.unclear != "" {
		return match.SentencePart(s.unclear)
	}
	return "an argument differs from it in letter case only, or cannot be read"
}

// partInDoubt is the part of a reading that a pattern may match.
func (s *subject) partInDoubt(p *pattern, r *reading) string {
	switch {
	case s.kind == asPath && s.tree && p.path != nil && p.path.Below(r.path):
		return match.Quote(r.text) + " may be, or may contain, such a path"
	case s.kind == asPath:
		return "which file " + match.Quote(r.text) + " is depends on the agent's folder, or on letter case"
	case s.kind == asURL:
		return match.Quote(r.text) + " differs from it in scheme, port or letter case"
	case s.kind == asShell:
		return p.command.InDoubt(r.script)
	}
	return match.Quote(r.text) + " differs from it in letter case only"
}
