package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// InDoubt is the part of a script that a pattern may match.
func (g *Pattern) InDoubt(s *Script) string {
	if s.Problem != "" {
		return match.SentencePart(s.Problem)
	}
	for _, c := range s.All {
		switch {
		case !g.mayMatch(c):
		case slices.ContainsFunc(c.opens, func(open string) bool { return strings.Contains(open, unknown) }):
			return c.open() + " is unknown before it runs"
		case g.words.match(c) == match.Maybe:
			return c.written() + " may be another way to write it"
		case slices.ContainsFunc(c.mentions, g.namedIn):
			return c.written() + " names it and may run it"
		default:
			return c.written() + " may run other commands"
		}
	}
	if slices.ContainsFunc(s.mentions, g.namedIn) {
		return "an assignment, a here-document or the input of a pipe names it and may be run"
	}
	for i, text := range s.lower {
		if g.lower.Match(text) {
			return match.Quote(s.texts[i]) + " differs from it in letter case only"
		}
	}
	return "a quoted text contains it"
}

// open returns the source of the first word that a shell expands, or else the command.
func (c *Command) open() string {
	if c.source.expands != "" {
		return match.Quote(c.source.expands)
	}
	return c.written()
}

func (c *Command) written() string { return match.Quote(c.Display()) }

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
