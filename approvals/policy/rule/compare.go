package rule

import (
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// Compare compares a deny or ask pattern with a call, without the condition of its rule. Of a pattern for paths
// and a shell command it compares what the command writes: see [Pattern.CompareReads].
func (p *Pattern) Compare(c *call.Reading) match.Result {
	if !p.IsFor(c.Call.Tool, c.Kind) {
		return match.No
	}
	if p.Rule.Names != nil {
		return namesAny(p.Rule.Names, c)
	}
	if p.Any || (p.argument.star && !p.used) {
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
	if found == match.No && slices.ContainsFunc(c.Unknown, func(r call.Candidate) bool { return p.MatchCandidate(c, &r) != match.No }) {
		return match.Maybe
	}
	return found
}

// matchWide compares a pattern with all the arguments and with each string in them.
func (p *Pattern) matchWide(c *call.Reading) match.Result {
	found := match.No
	if len(c.Doubts) > 0 {
		found = match.Maybe
	}
	texts, lower, all := c.WholeTexts()
	if !all {
		found = match.Maybe
	}
	for i, text := range texts {
		switch {
		case !c.Spend(1 + len(text)/textStep):
			return match.Maybe
		case p.argument.plain.Match(text):
			return match.Yes
		case p.argument.lower.Match(lower[i]):
			found = match.Maybe
		}
	}
	return found
}

// One step compares so many bytes of a text, or of a path.
const (
	textStep = 256
	pathStep = 64
	longPath = 256 // bytes from which a path costs more: a pattern with ** is compared from each folder in it
	manyUsed = 64  // paths whose names are searched for a text
)

// pathSteps returns what it costs to compare a pattern with a path.
func pathSteps(path string) int {
	return len(path)/pathStep + max(len(path)-longPath, 0)/8
}

// MatchCandidate compares a deny or ask pattern with one text that the resource may be.
func (p *Pattern) MatchCandidate(c *call.Reading, r *call.Candidate) match.Result {
	switch c.Kind {
	case call.Path:
		switch {
		case p.argument.path == nil:
			return p.matchText(r)
		case !c.Spend(pathSteps(r.Text)):
			return match.Maybe
		}
		return p.matchPath(c, r)
	case call.URL:
		if p.argument.url == nil {
			return p.matchText(r)
		}
		return p.argument.url.Match(r.URL)
	case call.Shell:
		if p.used {
			return p.matchUsed(c, shell.Writes)
		}
		if !c.Spend(r.Script.Size()) {
			return match.Maybe
		}
		return max(p.matchText(r), p.argument.command.Match(r.Script))
	}
	return p.matchText(r)
}

// HasReads reports whether [Pattern.CompareReads] may find anything: whether a pattern for paths is compared with shell
// commands.
func (p *Pattern) HasReads(c *call.Reading) bool {
	return p.used && c.Kind == call.Shell && p.Rule.Names == nil && !p.Rule.MatchesArguments && p.IsFor(c.Call.Tool, c.Kind)
}

// CompareReads compares a pattern for paths with what the shell commands of a call only read.
func (p *Pattern) CompareReads(c *call.Reading) match.Result {
	if !p.HasReads(c) {
		return match.No
	}
	found := p.matchUsed(c, shell.Reads)
	if len(c.Doubts) > 0 {
		return min(found, match.Maybe)
	}
	return found
}

// matchUsed compares a pattern for paths with those that the commands of a script use in a way, or may use.
func (p *Pattern) matchUsed(c *call.Reading, as shell.Access) match.Result {
	found := match.No
	all := c.Places.Used(as)
	switch {
	case c.Exhausted() != "" || !c.Spend(1+len(all)/manyUsed):
		return match.Maybe
	case !c.IsTree() && !c.Places.MayUse(as, p.argument.path.Needs()):
		return match.No
	}
	for i := range all {
		used := &all[i]
		if found == match.Yes || !c.Spend(len(used.Selections)+pathSteps(used.Text)) {
			return max(found, match.Maybe)
		}
		matched := p.matchPath(c, &used.Candidate)
		if !used.Certain {
			matched = min(matched, match.Maybe)
			if slices.ContainsFunc(used.Selections, func(s match.Selection) bool { return p.argument.path.Selected(&s) }) {
				matched = match.Maybe
			}
		}
		found = max(found, matched)
	}
	return found
}

// matchPath compares a deny or ask pattern with a path, by its name and by where links in it lead.
func (p *Pattern) matchPath(c *call.Reading, r *call.Candidate) match.Result {
	glob := p.argument.path
	found := glob.Match(r.Path)
	if glob.Dotted || glob.Anywhere {
		for _, l := range r.Place.Below {
			found = max(found, glob.Match(l))
		}
		for _, l := range r.Place.Target {
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
func namesAny(names *regexp.Regexp, c *call.Reading) match.Result {
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
func (p *Pattern) CoversCommand(c *call.Reading, command *shell.Command) bool {
	if p.argument.shell == nil || (len(command.Sets()) > 0 && !p.Rule.Within) || !p.coversWords(c, command) {
		return false
	}
	execution := c.Execution(command)
	if slices.ContainsFunc(execution.Secrets(), func(i int) bool {
		word, spelled := p.argument.shell.Word(i)
		return !spelled || !c.Known.Profiles.NamesWord(word)
	}) {
		return false
	}
	if !p.SpelledOut() && execution.Foreign() != "" {
		return false
	}
	if below := p.argument.shell.Below(); below != "" && !execution.Below(below) {
		return false
	}
	return !p.Rule.Within || execution.Within(p.Rule.Scratch)
}

// coversWords reports whether an allow pattern covers the words of a command, and its rule what the
// command does. If it is a * alone, what the command does is enough.
func (p *Pattern) coversWords(c *call.Reading, command *shell.Command) bool {
	if len(p.Rule.Does) > 0 && !slices.Contains(p.Rule.Does, c.Execution(command).Class()) {
		return false
	}
	return (len(p.Rule.Does) > 0 && p.argument.star) || p.argument.shell.Covers(command, c.Known.Programs, p.meaning())
}

// meaning is what a last * of the pattern covers. Grants keep the meaning that they had when they were made, as do policies
// of language 1, a rule with does allows what the table knows, and a secret goes to no call that its pattern does not describe.
func (p *Pattern) meaning() shell.Meaning {
	if p.Rule.Grant != nil || p.Rule.OfSecret || p.Rule.Listed || len(p.Rule.Does) > 0 {
		return 0
	}
	return shell.Whole
}

// Ends returns the index of the first word of a command that an allow pattern does not cover, the number of words if it is
// for longer commands, or -1 if it covers the words.
func (p *Pattern) Ends(c *call.Reading, command *shell.Command) int {
	if p.argument.shell == nil {
		return 0
	}
	return p.argument.shell.Ends(command, c.Known.Programs, p.meaning())
}

// Covers reports whether an allow pattern covers a resource other than a script.
func (p *Pattern) Covers(c *call.Reading, r *call.Candidate) bool {
	switch {
	case p.Any:
		return true
	case p.Rule.MatchesArguments:
		return p.argument.plain.Match(c.Whole()) && (r.Secret == "" || !strings.Contains(p.Text, "*"))
	case c.Kind == call.Path:
		return p.argument.path != nil && r.Problem == "" && p.coversPath(c, r)
	case c.Kind == call.URL:
		return p.argument.url != nil && r.Problem == "" && p.argument.url.Covers(r.URL)
	case p.argument.object != nil && r.Text == c.Whole() && !c.Call.FreeText:
		return p.argument.object.Covers(r.Text)
	default:
		return p.argument.plain.Match(r.Text)
	}
}

// coversPath reports whether an allow pattern covers a path, and names its secrets, and a file of a repository other than
// the workspace's own as it is. If there is a workspace, a pattern that begins with ./ covers only paths inside it, also
// where links in them lead.
func (p *Pattern) coversPath(c *call.Reading, r *call.Candidate) bool {
	glob := p.argument.path
	if (r.Secret != "" && !c.Known.Profiles.NamesSecret(glob)) || (r.Foreign != "" && strings.Contains(p.Text, "*")) {
		return false
	}
	if !glob.Dotted || !c.Known.Workspace.HasFolders() {
		return glob.Covers(r.Path) && (!p.Rule.Within || c.Places.CandidateWithin(r) || (p.Rule.Scratch && r.Foreign == "" && c.Known.Workspace.Scratch(r.Text)))
	}
	return c.Places.CandidateWithin(r) && slices.ContainsFunc(r.Place.Below, glob.Covers) &&
		(len(r.Place.Target) == 0 || slices.ContainsFunc(r.Place.Target, glob.Covers))
}

// matchText compares a pattern with a text, also if its argument does not fit the tool's kind, as a
// glob of tools may be for several kinds.
func (p *Pattern) matchText(r *call.Candidate) match.Result {
	switch {
	case p.argument.plain.Match(r.Text):
		return match.Yes
	case p.argument.lower.Match(r.Lower):
		return match.Maybe
	}
	return match.No
}

// InDoubt returns the part of a candidate that a pattern may match.
func (p *Pattern) InDoubt(c *call.Reading, r *call.Candidate) string {
	switch {
	case c.Kind == call.Path && c.IsTree() && p.argument.path != nil && p.argument.path.Below(r.Path):
		return match.Quote(r.Text) + " may be, or may contain, such a path"
	case c.Kind == call.Path:
		return "which file " + match.Quote(r.Text) + " is depends on the agent's folder, or on letter case"
	case c.Kind == call.URL:
		return match.Quote(r.Text) + " differs from it in scheme, port or letter case"
	case c.Kind == call.Shell && p.used:
		return "it may write such a file"
	case c.Kind == call.Shell:
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
