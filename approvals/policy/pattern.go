package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
)

// settings are what a rule says of a question to people.
type settings struct {
	risk      approvals.Risk
	timeout   time.Duration
	onTimeout string
	reviewers []string // sorted
	required  int
	forget    bool // remember: false
}

// rule is what the patterns of one item of rules have in common.
type rule struct {
	settings
	reason string
}

// pattern is one tool(argument) of a deny, ask or allow list. The argument is
// compiled for each kind of resource, as its tool glob may meet tools of each.
type pattern struct {
	text  string
	where string // file and line
	line  int
	rule  *rule
	tool  glob
	any   bool // no argument part: every call of the tool

	star         bool // the argument is nothing but stars
	plain, lower textGlob
	path         *pathGlob // nil if the argument is no path
	pathErr      error
	command      *commandGlob  // for deny and ask
	shell        *shellPattern // for allow; nil if the argument is not one command of plain words
	shellErr     error
}

// newPattern reads tool or tool(argument).
func newPattern(text string) (*pattern, error) {
	name, argument, hasArgument := strings.Cut(text, "(")
	if name == "" {
		return nil, errors.New("names no tool: write tool or tool(argument)")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }) || strings.Contains(name, ")") {
		return nil, fmt.Errorf("%q is no tool name: write tool or tool(argument)", name)
	}
	p := &pattern{text: text, tool: newGlob(name), any: !hasArgument}
	if p.any {
		return p, nil
	}
	argument, closed := strings.CutSuffix(argument, ")")
	if !closed {
		return nil, errors.New("does not end with ): write tool(argument)")
	}
	if argument == "" {
		return nil, fmt.Errorf("has an empty argument: write %s for any arguments", name)
	}
	p.star = strings.Trim(argument, "*") == ""
	p.plain = newTextGlob(argument)
	p.lower = newTextGlob(strings.ToLower(argument))
	p.path, p.pathErr = newPathGlob(argument)
	p.command = newCommandGlob(argument)
	p.shell, p.shellErr = newShellPattern(argument)
	return p, nil
}

// check says why a pattern cannot be meant for a tool of a kind.
func (p *pattern) check(k kind, allows bool) error {
	switch {
	case p.any || p.star && !allows:
		return nil
	case k == asPath:
		return p.pathErr
	case k == asShell && allows:
		return p.shellErr
	}
	return nil
}

// covers reports whether an allow pattern covers a resource that is not a
// script.
func (p *pattern) covers(k kind, r *reading) bool {
	switch {
	case p.any:
		return true
	case k == asPath:
		return p.path != nil && r.problem == "" && p.path.covers(r.path)
	default:
		return p.plain.match(r.text)
	}
}

// match says whether a deny or ask pattern matches the call.
func (s *subject) match(p *pattern) match {
	if !p.tool.match(s.call.Tool) {
		return no
	}
	if p.any || p.star {
		return yes
	}
	found := no
	if s.unclear != "" {
		found = maybe
	}
	for i := range s.readings {
		found = max(found, p.matchReading(s.kind, &s.readings[i]))
		if found == yes {
			break
		}
	}
	return found
}

func (p *pattern) matchReading(k kind, r *reading) match {
	if k == asPath {
		if p.path == nil {
			return maybe
		}
		return p.path.match(r.path)
	}
	if p.plain.match(r.text) {
		return yes
	}
	found := no
	if p.lower.match(r.lower) {
		found = maybe
	}
	if k == asShell {
		found = max(found, p.command.match(r.script))
	}
	return found
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
		cmp.Compare(a.line, b.line),
	)
}
