package policy

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxDoubts = 5  // patterns that may match, of which a reviewer is warned
	maxPart   = 80 // characters shown of the part of a call that is in doubt
)

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
	return slices.DeleteFunc(slices.Clone(asks), func(p *pattern) bool { return s.match(p) != yes })
}

// doubtsOf warn the reviewer of each pattern that only may match, in one sentence each.
func (s *subject) doubtsOf(asks []*pattern) []string {
	var flags []string
	more := 0
	for _, p := range asks {
		switch {
		case s.match(p) == yes:
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
	return fmt.Sprintf("May match the %s pattern %s (%s): %s.", does, quoted(p.text), p.where, s.inDoubt(p))
}

// inDoubt returns, for a pattern that may match, which part of the call is not known for
// certain. It has no full stop.
func (s *subject) inDoubt(p *pattern) string {
	if len(s.doubts) > 0 {
		return sentencePart(s.doubts[0])
	}
	if !p.rule.wide {
		for i := range s.readings {
			if r := &s.readings[i]; s.matchReading(p, r) == maybe {
				return s.partInDoubt(p, r)
			}
		}
	}
	if s.unclear != "" {
		return sentencePart(s.unclear)
	}
	return "an argument differs from it in letter case only, or cannot be read"
}

// partInDoubt is the part of a reading that a pattern may match.
func (s *subject) partInDoubt(p *pattern, r *reading) string {
	switch {
	case s.kind == asPath && s.tree && p.path != nil && p.path.below(r.path):
		return quoted(r.text) + " may be, or may contain, such a path"
	case s.kind == asPath:
		return "which file " + quoted(r.text) + " is depends on the agent's folder, or on letter case"
	case s.kind == asURL:
		return quoted(r.text) + " differs from it in scheme, port or letter case"
	case s.kind == asShell:
		return p.command.inDoubt(r.script)
	}
	return quoted(r.text) + " differs from it in letter case only"
}

// inDoubt is the part of a script that a pattern may match.
func (g *commandGlob) inDoubt(s *script) string {
	if s.problem != "" {
		return sentencePart(s.problem)
	}
	for _, c := range s.all {
		switch {
		case !g.mayMatch(c):
		case slices.ContainsFunc(c.opens, func(open string) bool { return strings.Contains(open, unknown) }):
			return c.open() + " is not known before it runs"
		case g.words.match(c) == maybe:
			return c.written() + " may be another way to write it"
		case slices.ContainsFunc(c.within, g.namedIn):
			return c.written() + " names it, and may run it"
		default:
			return c.written() + " may run other commands"
		}
	}
	if slices.ContainsFunc(s.within, g.namedIn) {
		return "an assignment, a here-document or what is written to a pipe names it, and may be run"
	}
	for i, text := range s.lower {
		if g.lower.match(text) {
			return quoted(s.texts[i]) + " differs from it in letter case only"
		}
	}
	return "a quoted text contains it"
}

// open is the first word that a shell expands, as it is written; the command where that
// is not known.
func (c *command) open() string {
	if c.expands != "" {
		return quoted(c.expands)
	}
	return c.written()
}

func (c *command) written() string { return quoted(c.display()) }

// expands is the source of the first word of a call that a shell expands, or "".
func expands(call *syntax.CallExpr, src string) string {
	for _, w := range call.Args {
		start, end := int(w.Pos().Offset()), int(w.End().Offset())
		one := wordOf(w)
		if (!one.certain() || strings.Contains(one.text, unknown)) && start < end && end <= len(src) {
			return src[start:end]
		}
	}
	return ""
}

// quoted is a short part of a call or rule as a reviewer sees it.
func quoted(text string) string { return "`" + shorten(text, maxPart) + "`" }

// sentencePart is a sentence after a colon.
func sentencePart(sentence string) string {
	sentence = strings.TrimSuffix(sentence, ".")
	if sentence == "" {
		return sentence
	}
	return strings.ToLower(sentence[:1]) + sentence[1:]
}
