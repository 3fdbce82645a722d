package policy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// compare reports whether a deny or ask pattern matches the call, whatever the
// condition of its rule.
func (p *pattern) compare(c *ParsedCall) match.Result {
	if !p.isFor(c.Call.Tool, c.Kind) {
		return match.No
	}
	if p.rule.names != nil {
		return namesAny(p.rule.names, c)
	}
	if p.any || p.star {
		return match.Yes
	}
	if p.rule.wide {
		return p.matchWide(c)
	}
	found := match.No
	if c.Unclear != "" {
		found = match.Maybe
	}
	for i := range c.Candidates {
		found = max(found, p.matchCandidate(c, &c.Candidates[i]))
		if found == match.Yes {
			return match.Yes
		}
	}
	if found == match.No && slices.ContainsFunc(c.Unknown, func(r Candidate) bool { return p.matchCandidate(c, &r) != match.No }) {
		return match.Maybe
	}
	return found
}

// matchWide compares a pattern with all the arguments and with each string among
// them.
func (p *pattern) matchWide(c *ParsedCall) match.Result {
	found := match.No
	if len(c.Doubts) > 0 {
		found = match.Maybe
	}
	texts, all := c.Strings()
	if !all {
		found = match.Maybe
	}
	for _, text := range append([]string{c.Whole()}, texts...) {
		switch {
		case p.plain.Match(text):
			return match.Yes
		case p.lower.Match(match.FoldCase(text)):
			found = match.Maybe
		}
	}
	return found
}

func (p *pattern) matchCandidate(c *ParsedCall, r *Candidate) match.Result {
	switch c.Kind {
	case asPath:
		switch {
		case p.path == nil:
			return p.matchText(r)
		case c.IsTree() && p.path.Below(r.Path):
			return max(match.Maybe, p.path.Match(r.Path))
		}
		return p.path.Match(r.Path)
	case asURL:
		if p.url == nil {
			return p.matchText(r)
		}
		return p.url.Match(r.URL)
	case asShell:
		return max(p.matchText(r), p.command.Match(r.Script))
	}
	return p.matchText(r)
}

// namesAny reports whether the call names one of the files that the rule is about, as it
// is written or in a command with its quotes removed.
func namesAny(names *regexp.Regexp, c *ParsedCall) match.Result {
	for i := range c.Candidates {
		if names.MatchString(c.Candidates[i].Text) {
			return match.Yes
		}
	}
	for _, script := range c.Scripts() {
		if slices.ContainsFunc(script.All, func(c *shell.Command) bool { return slices.ContainsFunc(c.Words, names.MatchString) }) {
			return match.Yes
		}
	}
	if c.Unclear != "" {
		return match.Maybe
	}
	return match.No
}

// coversCommand reports whether an allow pattern covers a command, and names what
// of it may hold secrets.
func (p *pattern) coversCommand(c *ParsedCall, command *shell.Command) bool {
	if p.shell == nil || !p.shell.Covers(command, c.Programs()) {
		return false
	}
	return !slices.ContainsFunc(c.SecretWords(command), func(i int) bool {
		word, spelled := p.shell.Word(i)
		return !spelled || !c.Profiles().namesWord(word)
	})
}

// covers reports whether an allow pattern covers a resource that is not a
// script.
func (p *pattern) covers(c *ParsedCall, r *Candidate) bool {
	switch {
	case p.any:
		return true
	case p.rule.wide:
		return p.plain.Match(c.Whole()) && (r.Secret == "" || !strings.Contains(p.text, "*"))
	case c.Kind == asPath:
		return p.path != nil && r.Problem == "" && p.path.Covers(r.Path) && (r.Secret == "" || c.Profiles().namesSecret(p.path))
	case c.Kind == asURL:
		return p.url != nil && r.Problem == "" && p.url.Covers(r.URL)
	default:
		return p.plain.Match(r.Text)
	}
}

// matchText compares a pattern with a text as it stands: what a glob of tools
// says of those whose resource its argument is not the form of.
func (p *pattern) matchText(r *Candidate) match.Result {
	switch {
	case p.plain.Match(r.Text):
		return match.Yes
	case p.lower.Match(r.Lower):
		return match.Maybe
	}
	return match.No
}
