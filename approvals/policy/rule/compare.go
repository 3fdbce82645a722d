package rule

import (
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/resource"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// Compare compares a deny or ask pattern with a call, without the condition of its rule.
func (p *Pattern) Compare(c *resource.ParsedCall) match.Result {
	if !p.IsFor(c.Call.Tool, c.Kind) {
		return match.No
	}
	if p.Rule.Names != nil {
		return namesAny(p.Rule.Names, c)
	}
	if p.Any || (p.argument.star && !p.written) {
		return match.Yes
	}
	if p.Rule.MatchesArguments {
		return p.matchWide(c)
	}
	found := match.No
	if c.Ambiguity != "" {
		found = match.Maybe
	}
	for i := range c.Candidates {
		found = max(found, p.MatchCandidate(c, &c.Candidates[i]))
		if found == match.Yes {
			return match.Yes
		}
	}
	if found == match.No && slices.ContainsFunc(c.Unknown, func(r resource.Candidate) bool { return p.MatchCandidate(c, &r) != match.No }) {
		return match.Maybe
	}
	return found
}

// matchWide compares a pattern with all the arguments and with each string in them.
func (p *Pattern) matchWide(c *resource.ParsedCall) match.Result {
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
		case p.argument.plain.Match(text):
			return match.Yes
		case p.argument.lower.Match(match.FoldCase(text)):
			found = match.Maybe
		}
	}
	return found
}

// MatchCandidate compares a deny or ask pattern with one text that the resource may be.
func (p *Pattern) MatchCandidate(c *resource.ParsedCall, r *resource.Candidate) match.Result {
	switch c.Kind {
	case resource.Path:
		if p.argument.path == nil {
			return p.matchText(r)
		}
		return p.matchPath(c, r)
	case resource.URL:
		if p.argument.url == nil {
			return p.matchText(r)
		}
		return p.argument.url.Match(r.URL)
	case resource.Shell:
		if p.written {
			return p.matchWritten(c)
		}
		return max(p.matchText(r), p.argument.command.Match(r.Script))
	}
	return p.matchText(r)
}

// matchWritten compares an ask pattern for paths with the files that the commands of a script write
// or may write.
func (p *Pattern) matchWritten(c *resource.ParsedCall) match.Result {
	found := match.No
	for _, written := range c.Places.Written() {
		one := p.matchPath(c, &written.Candidate)
		if !written.Certain {
			one = min(one, match.Maybe)
			if p.argument.path.Selected(written.Path) || slices.ContainsFunc(written.Place.Forms(), p.argument.path.Selected) {
				one = match.Maybe
			}
		}
		found = max(found, one)
	}
	return found
}

// matchPath compares a deny or ask pattern with a path, by its name and by where links in it lead.
func (p *Pattern) matchPath(c *resource.ParsedCall, r *resource.Candidate) match.Result {
	glob := p.argument.path
	found := glob.Match(r.Path)
	if glob.Dotted || glob.Anywhere {
		for _, l := range r.Place.Forms() {
			found = max(found, glob.Match(l))
		}
	}
	if c.IsTree() && glob.Below(r.Path) {
		found = max(found, match.Maybe)
	}
	return found
}

// namesAny reports whether the call, or a command of it without quotes, contains one of the file
// names of the rule.
func namesAny(names *regexp.Regexp, c *resource.ParsedCall) match.Result {
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
	if c.Ambiguity != "" {
		return match.Maybe
	}
	return match.No
}

// CoversCommand reports whether an allow pattern covers a command and names its secrets.
func (p *Pattern) CoversCommand(c *resource.ParsedCall, command *shell.Command) bool {
	if p.argument.shell == nil || (len(command.Sets()) > 0 && !p.Rule.Within) || !p.coversWords(c, command) {
		return false
	}
	if slices.ContainsFunc(c.SecretWords(command), func(i int) bool {
		word, spelled := p.argument.shell.Word(i)
		return !spelled || !c.Known.Profiles.NamesWord(word)
	}) {
		return false
	}
	return !p.Rule.Within || c.Places.CommandWithin(command, p.Rule.Scratch)
}

// coversWords reports whether an allow pattern covers the words of a command, and its rule what the
// command does. If it is a * alone, what the command does is enough.
func (p *Pattern) coversWords(c *resource.ParsedCall, command *shell.Command) bool {
	if len(p.Rule.Does) == 0 {
		return p.argument.shell.Covers(command, c.Known.Programs)
	}
	use := c.Places.UseOf(command)
	return slices.Contains(p.Rule.Does, use.Class) && (p.argument.star || p.argument.shell.Covers(command, c.Known.Programs))
}

// Covers reports whether an allow pattern covers a resource other than a script.
func (p *Pattern) Covers(c *resource.ParsedCall, r *resource.Candidate) bool {
	switch {
	case p.Any:
		return true
	case p.Rule.MatchesArguments:
		return p.argument.plain.Match(c.Whole()) && (r.Secret == "" || !strings.Contains(p.Text, "*"))
	case c.Kind == resource.Path:
		return p.argument.path != nil && r.Problem == "" && p.coversPath(c, r) && (r.Secret == "" || c.Known.Profiles.NamesSecret(p.argument.path))
	case c.Kind == resource.URL:
		return p.argument.url != nil && r.Problem == "" && p.argument.url.Covers(r.URL)
	default:
		return p.argument.plain.Match(r.Text)
	}
}

// coversPath reports whether an allow pattern covers a path. If there is a workspace, a pattern that
// begins with ./ covers only paths inside it, also where links in them lead.
func (p *Pattern) coversPath(c *resource.ParsedCall, r *resource.Candidate) bool {
	glob := p.argument.path
	if !glob.Dotted || c.Known.Workspace == nil {
		return glob.Covers(r.Path) && (!p.Rule.Within || c.Places.CandidateWithin(r))
	}
	return c.Places.CandidateWithin(r) && slices.ContainsFunc(r.Place.Below, glob.Covers) &&
		(len(r.Place.Target) == 0 || slices.ContainsFunc(r.Place.Target, glob.Covers))
}

// matchText compares a pattern with a text, also if its argument does not fit the tool's kind, as a
// glob of tools may be for several kinds.
func (p *Pattern) matchText(r *resource.Candidate) match.Result {
	switch {
	case p.argument.plain.Match(r.Text):
		return match.Yes
	case p.argument.lower.Match(r.Lower):
		return match.Maybe
	}
	return match.No
}

// InDoubt returns the part of a candidate that a pattern may match.
func (p *Pattern) InDoubt(c *resource.ParsedCall, r *resource.Candidate) string {
	switch {
	case c.Kind == resource.Path && c.IsTree() && p.argument.path != nil && p.argument.path.Below(r.Path):
		return match.Quote(r.Text) + " may be, or may contain, such a path"
	case c.Kind == resource.Path:
		return "which file " + match.Quote(r.Text) + " is depends on the agent's folder, or on letter case"
	case c.Kind == resource.URL:
		return match.Quote(r.Text) + " differs from it in scheme, port or letter case"
	case c.Kind == resource.Shell && p.written:
		return "it may write such a file"
	case c.Kind == resource.Shell:
		return p.argument.command.InDoubt(r.Script)
	}
	return match.Quote(r.Text) + " differs from it in letter case only"
}

// Unconditional reports whether an allow pattern covers every call of its tools.
func (p *Pattern) Unconditional() bool {
	return p.Any && p.Rule.When == nil && !p.Rule.Within && p.Rule.Does == nil
}

// SpelledOut reports whether the pattern spells out a whole command.
func (p *Pattern) SpelledOut() bool { return p.argument.shell != nil && p.argument.shell.SpelledOut }
