package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// pattern is one tool(argument) of a list of a rule. The argument
// is compiled for each kind of resource, as its tool glob may meet tools of each.
type pattern struct {
	text  string
	where string // file and line
	line  int
	rank  int // in its list: the lowest decides
	rule  *rule
	tool  match.Glob

	shells bool // shell(argument): for every tool that runs shell scripts
	any    bool // no argument part: every call of the tool

	star         bool // the argument is nothing but stars
	plain, lower match.TextGlob
	path         *match.PathGlob // nil if the argument is no path
	pathErr      error
	url          *match.URLGlob // nil if the argument is no URL
	urlErr       error
	command      *shell.Pattern      // for deny and ask
	shell        *shell.AllowPattern // for allow; nil if the argument is not one command of plain words
	shellErr     error
}

// newPattern reads tool or tool(argument).
func newPattern(text string) (*pattern, error) {
	name, argument, hasArgument := strings.Cut(text, "(")
	if name == "" {
		return nil, errors.New("names no tool: write tool or tool(argument)")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }) || strings.Contains(name, ")") {
		return nil, fmt.Errorf("%q is no tool name: write tool or tool(argument), such as bash(git *)", name)
	}
	p := &pattern{text: text, tool: match.NewGlob(name), any: !hasArgument}
	if p.any {
		return p, nil
	}
	p.shells = name == shellClass
	argument, closed := strings.CutSuffix(argument, ")")
	if !closed {
		return nil, errors.New("does not end with ): write tool(argument)")
	}
	if argument == "" {
		return nil, fmt.Errorf("has an empty argument: write %s for any arguments", name)
	}
	p.star = strings.Trim(argument, "*") == ""
	p.plain = match.NewTextGlob(argument)
	p.lower = match.NewTextGlob(match.FoldCase(argument))
	p.path, p.pathErr = match.NewPathGlob(argument)
	p.url, p.urlErr = match.NewURLGlob(argument)
	p.command = shell.NewPattern(argument)
	p.shell, p.shellErr = shell.NewAllowPattern(argument)
	return p, nil
}

// shellClass names, in a pattern with an argument, every tool that runs shell
// scripts.
const shellClass = "shell"

// isFor reports whether a pattern is for a tool whose resource is of a kind.
func (p *pattern) isFor(tool string, k kind) bool {
	return (p.tool.Match(tool) || (p.shells && k == asShell)) && p.rule.concerns(k)
}

// fits says why a pattern cannot be meant for any of the tools that it may be
// for, by their kinds.
func (p *pattern) fits(kinds []kind, allows bool) error {
	var err error
	for _, k := range kinds {
		one := p.check(k, allows)
		if one == nil {
			return nil
		}
		err = cmp.Or(err, one)
	}
	return err
}

// check says why a pattern cannot be meant for a tool of a kind.
func (p *pattern) check(k kind, allows bool) error {
	switch {
	case p.any || p.star && !allows || p.rule != nil && p.rule.wide:
		return nil
	case k == asPath:
		return p.pathErr
	case k == asURL:
		return p.urlErr
	case k == asShell && allows:
		return p.shellErr
	}
	return nil
}

// keys are those of which a resource of a kind has one among its own if the
// pattern matches it. There are none where the pattern may match any.
func (p *pattern) keys(k kind) []string {
	if p.any || p.star || p.rule.wide {
		return nil
	}
	switch {
	case k == asPath && p.path != nil:
		return p.path.Keys
	case k == asURL && p.url != nil && p.url.Fixed:
		return []string{p.url.Key}
	case k == asShell && p.shell != nil && !p.shell.Begins(p.command.Key):
		return nil // quoted
	case k == asShell && p.command.Key != "":
		return []string{p.command.Key}
	case k == asPlain && len(p.lower) == 1 && p.lower[0].Literal():
		return []string{p.lower[0].Prefix()}
	}
	return nil
}

// covers reports whether an allow pattern covers a resource that is not a
// script.
func (p *pattern) covers(s *subject, r *reading) bool {
	switch {
	case p.any:
		return true
	case p.rule.wide:
		return p.plain.Match(s.whole()) && (r.secret == "" || !strings.Contains(p.text, "*"))
	case s.kind == asPath:
		return p.path != nil && r.problem == "" && p.path.Covers(r.path) && (r.secret == "" || s.policy.profiles.namesSecret(p.path))
	case s.kind == asURL:
		return p.url != nil && r.problem == "" && p.url.Covers(r.url)
	default:
		return p.plain.Match(r.text)
	}
}

// match says whether a deny or ask pattern matches the call, and the condition
// of its rule is true.
func (s *subject) match(p *pattern) match.Result { return s.meets(p, s.compare(p)) }

// compare says whether a deny or ask pattern matches the call, whatever the
// condition of its rule.
func (s *subject) compare(p *pattern) match.Result {
	if !p.isFor(s.call.Tool, s.kind) {
		return match.No
	}
	if p.rule.names != nil {
		return s.namesAny(p.rule.names)
	}
	if p.any || p.star {
		return match.Yes
	}
	if p.rule.wide {
		return s.matchWide(p)
	}
	found := match.No
	if s.unclear != "" {
		found = match.Maybe
	}
	for i := range s.readings {
		found = max(found, s.matchReading(p, &s.readings[i]))
		if found == match.Yes {
			return match.Yes
		}
	}
	if found == match.No && slices.ContainsFunc(s.unknown, func(r reading) bool { return s.matchReading(p, &r) != match.No }) {
		return match.Maybe
	}
	return found
}

// matchWide compares a pattern with all the arguments and with each string among
// them.
func (s *subject) matchWide(p *pattern) match.Result {
	found := match.No
	if len(s.doubts) > 0 {
		found = match.Maybe
	}
	texts, all := s.strings()
	if !all {
		found = match.Maybe
	}
	for _, text := range append([]string{s.whole()}, texts...) {
		switch {
		case p.plain.Match(text):
			return match.Yes
		case p.lower.Match(match.FoldCase(text)):
			found = match.Maybe
		}
	}
	return found
}

func (s *subject) matchReading(p *pattern, r *reading) match.Result {
	switch s.kind {
	case asPath:
		switch {
		case p.path == nil:
			return p.matchText(r)
		case s.tree && p.path.Below(r.path):
			return max(match.Maybe, p.path.Match(r.path))
		}
		return p.path.Match(r.path)
	case asURL:
		if p.url == nil {
			return p.matchText(r)
		}
		return p.url.Match(r.url)
	case asShell:
		return max(p.matchText(r), p.command.Match(r.script))
	}
	return p.matchText(r)
}

// matchText compares a pattern with a text as it stands: what a glob of tools
// says of those whose resource its argument is not the form of.
func (p *pattern) matchText(r *reading) match.Result {
	switch {
	case p.plain.Match(r.text):
		return match.Yes
	case p.lower.Match(r.lower):
		return match.Maybe
	}
	return match.No
}

// byStrictness orders patterns by what they say, never by where they stand:
// the strictest first, then the longest.
func byStrictness(a, b *pattern) int {
	return cmp.Or(
		cmp.Compare(b.rule.required, a.rule.required),
		cmp.Compare(riskLevel(b.rule.risk), riskLevel(a.rule.risk)),
		cmp.Compare(len(b.text), len(a.text)),
		cmp.Compare(a.text, b.text),
		cmp.Compare(a.rule.reason, b.rule.reason),
		cmp.Compare(b.rule.onTimeout, a.rule.onTimeout),
		cmp.Compare(a.rule.timeout, b.rule.timeout),
		slices.Compare(a.rule.reviewers, b.rule.reviewers),
		a.rule.escalate.compare(b.rule.escalate),
		cmp.Compare(a.rule.when.text(), b.rule.when.text()),
		cmp.Compare(a.line, b.line),
	)
}
