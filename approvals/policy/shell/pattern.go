package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Pattern is the argument of a deny or ask pattern compared with scripts.
type Pattern struct {
	glob   match.TextGlob
	lower  match.TextGlob
	prefix string     // the text before the first *
	joined bool       // the * follows at once
	open   bool       // the * may continue the last word
	core   string     // the prefix as a loose text, without what joins it to the *
	loose  match.Glob // the argument as a loose text that may go on
	Key    string     // the first word in lower case, where that is fixed
	words  *wordsGlob
}

// NewPattern reads the argument of a deny or ask pattern.
func NewPattern(text string) *Pattern {
	prefix := match.NewGlob(text).Prefix()
	g := &Pattern{
		glob:   newCommandText(text),
		lower:  newCommandText(match.FoldCase(text)),
		prefix: strings.TrimSuffix(prefix, ":"),
		joined: len(prefix) < len(text) && !strings.HasSuffix(prefix, ":"),
	}
	g.open = g.joined && !strings.HasSuffix(prefix, " ")
	g.core = spaced(match.FoldCase(g.prefix))
	g.loose = match.NewGlob(strings.TrimRight(strings.TrimSuffix(spaced(match.FoldCase(text)), ":*"), " *") + "*")
	g.words = newWordsGlob(text)
	if first := strings.TrimSuffix(firstWord(text), ":*"); !strings.Contains(first, "*") && len(first) <= maxName {
		g.Key = match.FoldCase(first)
	}
	return g
}

// newCommandText returns the glob for the text of a command. A last * also matches nothing.
func newCommandText(text string) match.TextGlob {
	g := match.NewPrefixGlob(text)
	if alone, found := strings.CutSuffix(text, " *"); found && strings.Trim(alone, " *") != "" {
		g = append(g, match.NewGlob(alone))
	}
	return g
}

// Match compares the pattern with every command of a script.
func (g *Pattern) Match(s *Script) match.Result {
	if slices.ContainsFunc(s.texts, g.glob.Match) || slices.ContainsFunc(s.All, func(c *Command) bool { return g.words.match(c) == match.Yes }) {
		return match.Yes
	}
	if s.Problem != "" || slices.ContainsFunc(s.lower, g.lower.Match) || slices.ContainsFunc(s.All, g.mayMatch) || slices.ContainsFunc(s.mentions, g.namedIn) {
		return match.Maybe
	}
	return match.No
}

// mayMatch reports whether a command may match after the shell has expanded it, or may run a
// command that matches.
func (g *Pattern) mayMatch(c *Command) bool {
	for _, open := range c.opens {
		if before, _, cut := strings.Cut(open, unknown); cut && g.mayBegin(before) {
			return true
		}
	}
	if g.words.match(c) == match.Maybe || slices.ContainsFunc(c.mentions, g.namedIn) {
		return true
	}
	return c.opaque || (c.kind.runsOthers && !c.complete && (c.fromElsewhere() || c.obscure() || g.core == ""))
}

// mayBegin reports whether a text that begins like this may match.
func (g *Pattern) mayBegin(before string) bool {
	rest, goesOn := strings.CutPrefix(before, g.prefix)
	return strings.HasPrefix(g.prefix, before) || (goesOn && (g.joined || rest[0] == ' ' || rest[0] == ':'))
}

// fromElsewhere reports whether a command may run text that is not in its words.
func (c *Command) fromElsewhere() bool {
	return c.data.runs || (c.data.piped && c.kind.interprets)
}

// obscure reports whether another command may be hidden in a command's words.
func (c *Command) obscure() bool { return strings.ContainsAny(c.opens[0], unknown+"'\"\\$`") }

// namedIn reports whether a loose text names the command of the pattern.
func (g *Pattern) namedIn(text string) bool {
	if g.core == "" {
		return g.loose.Match(text)
	}
	for i := 0; ; i++ {
		j := strings.Index(text[i:], g.core)
		if j < 0 {
			return false
		}
		i += j
		rest := text[i+len(g.core):]
		whole := g.open || nameEnd(rest) == 0 || strings.HasPrefix(rest, ".exe")
		if whole && nameBegins(text, i) && g.loose.Match(text[i:]) {
			return true
		}
	}
}

// InDoubt is the part of a script that a pattern may match.
func (g *Pattern) InDoubt(s *Script) string {
	if s.Problem != "" {
		return match.SentencePart(s.Problem)
	}
	for _, c := range s.All {
		switch {
		case !g.mayMatch(c):
		case slices.ContainsFunc(c.opens[:], func(open string) bool { return strings.Contains(open, unknown) }):
			return c.open() + " is unknown before it runs"
		case g.words.match(c) == match.Maybe:
			return c.written() + " may be another way to write it"
		case slices.ContainsFunc(c.mentions, g.namedIn):
			return c.written() + " names it and may run it"
		case c.fromElsewhere():
			return c.written() + " runs a text that is not known before it runs"
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
		if (!one.certain() || strings.Contains(one.Text, unknown)) && start < end && end <= len(src) {
			return src[start:end]
		}
	}
	return ""
}
