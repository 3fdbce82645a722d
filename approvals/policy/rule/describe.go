package rule

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// Tool returns a tool that a pattern is for, by a name that an agent may use.
func (p *Set) Tool(of *Pattern) string {
	if of.class != nil || !of.Tool.Literal() {
		for _, t := range append(p.Known.Tools[:len(p.Known.Tools):len(p.Known.Tools)], p.Known.Profiles.All()...) {
			if t.Names.Literal() && of.IsFor(t.Name, p.Known.Tool(t.Name).Kind) {
				return t.Name
			}
		}
	}
	stars := make([]string, len(of.Tool.Parts)-1)
	for i := range stars {
		stars[i] = "x"
	}
	return of.Tool.With(stars)
}

// Describe describes for a person what an allow pattern covers of a tool with a resource of a kind. The texts of the result
// are resources; of a pattern without an argument there are none.
func (p *Pattern) Describe(known *call.Known, k call.Kind) shell.Described {
	argument := p.argumentText()
	switch {
	case p.Any:
		return shell.Described{Covers: "every call, whatever its arguments"}
	case k == call.Shell && p.argument.shell != nil && !p.Rule.MatchesArguments:
		tool, _, _ := strings.Cut(p.Text, "(")
		return p.argument.shell.Describe(known.Programs, tool, p.meaning())
	case k == call.Path:
		return describePath(argument)
	case k == call.URL:
		return describeURL(argument)
	}
	return shell.Described{
		Covers: "calls with this text", Likely: []string{strings.ReplaceAll(argument, "*", "x"), strings.ReplaceAll(argument, "*", "y z")},
		Unlikely: []string{"other", "other text"},
	}
}

// widened tells what a pattern covers if that is more than in language 1, or returns "".
func (p *Pattern) widened(known *call.Known) string {
	if p.Any || p.argument.shell == nil || p.Rule.MatchesArguments || p.meaning() != shell.Whole {
		return ""
	}
	tool, _, _ := strings.Cut(p.Text, "(")
	now := p.argument.shell.Describe(known.Programs, tool, shell.Whole).Covers
	if now == p.argument.shell.Describe(known.Programs, tool, 0).Covers {
		return ""
	}
	return now
}

// argumentText is the text between the brackets.
func (p *Pattern) argumentText() string {
	_, argument, _ := strings.Cut(p.Text, "(")
	return strings.TrimSuffix(argument, ")")
}

func describePath(argument string) shell.Described {
	d := shell.Described{Covers: "this path"}
	before, _, below := strings.Cut(argument, "**")
	switch {
	case below && strings.Trim(before, "./~") == "":
		d.Covers = "every path"
		if before != "" {
			d.Covers = "every path below " + before
		}
	case below:
		d.Covers = "every path below " + before + " that fits"
		if strings.HasSuffix(argument, "/**") {
			d.Covers = "every path below " + before
		}
	case strings.Contains(argument, "*"):
		d.Covers = "paths in one folder"
	}
	fill := func(deep, name string) string {
		return strings.ReplaceAll(strings.ReplaceAll(argument, "**", deep), "*", name)
	}
	d.Likely = []string{fill("a.txt", "a"), fill("b/c.txt", "b"), fill("b/c", "c")}
	d.Unlikely = []string{fill(".env", ".env"), fill("../../x", "a/b"), "/etc/passwd", "../other.txt"}
	return d
}

func describeURL(argument string) shell.Described {
	d := shell.Described{Covers: "this page"}
	if host, ok := strings.CutPrefix(argument, "domain:"); ok {
		argument = "https://" + host
	}
	scheme, rest, _ := strings.Cut(argument, "://")
	host, path, hasPath := strings.Cut(rest, "/")
	switch {
	case !hasPath || path == "**":
		d.Covers, path = "all pages of "+host, "**"
	case strings.Contains(path, "*"):
		d.Covers = "pages of " + host + " that fit"
	}
	fill := func(host, deep string) string {
		host = strings.ReplaceAll(strings.ReplaceAll(host, "**", "a"), "*", "b")
		return scheme + "://" + host + "/" + strings.ReplaceAll(strings.ReplaceAll(path, "**", deep), "*", "x")
	}
	d.Likely = []string{fill(host, "x"), fill(host, "x/y")}
	d.Unlikely = []string{fill(host+".evil.example", "x"), "http://other.example/x"}
	return d
}

// Conditions tells what the rule of an allow pattern demands beside it, as the end of a sentence, or returns "".
func (p *Pattern) Conditions() string {
	var all []string
	if len(p.Rule.Does) > 0 {
		var names []string
		for _, class := range p.Rule.Does {
			names = append(names, string(class))
		}
		all = append(all, "does no more than "+strings.Join(names, ", "))
	}
	if p.Rule.Within {
		all = append(all, "stays within the workspace")
	}
	if p.Rule.When != nil {
		all = append(all, "fulfils "+match.Shorten(p.Rule.When.source, 60))
	}
	if len(all) == 0 {
		return ""
	}
	return "only what " + strings.Join(all, " and ")
}

// everything tells what a pattern with ** allows, if that is all of a kind, or returns "".
func (p *Pattern) everything(kinds []call.Kind) string {
	argument := p.argumentText()
	switch {
	case p.Any || p.Rule.MatchesArguments:
		return ""
	case slices.Contains(kinds, call.Shell) && p.argument.shell != nil && p.argument.shell.Every():
		if argument == "**" {
			return "every command, whatever it does"
		}
		return "any words there, whatever they do"
	case slices.Contains(kinds, call.Path) && (argument == "**" || argument == "/**"):
		return "every path"
	}
	return ""
}

// IsRedirect reports whether an allow pattern is for redirections.
func (p *Pattern) IsRedirect() bool { return p.argument.shell != nil && p.argument.shell.IsRedirect() }
