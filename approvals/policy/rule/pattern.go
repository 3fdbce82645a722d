package rule

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Pattern is one tool(argument) of a rule's list. Its argument is compiled for each kind of
// resource, as a glob of tools may be for several.
type Pattern struct {
	Text         string
	Short        string // the text of the policy that is short for this and other patterns, such as path(@hook); "" for none
	Where        string // file and line
	Line, Column int
	Extended     bool // it is of the text that the policy extends
	Rank         int  // in its list: the lowest decides
	Rule         *Rule
	Tool         match.Glob

	oneServer bool           // of an MCP server that a rule allows: not for a server whose name goes on after a __
	mended    *regexp.Regexp // of the names that agents mend to one of Tool: see [toolname.Pattern]; nil for a tool without a star, and for * alone
	class     *call.Kind     // path(argument) or shell(argument): for every tool of a kind; nil: for the named tools
	used      bool           // it is also about the paths that shell commands read or write
	Any       bool           // no argument part: every call of the tool
	argument  argumentForms
}

// argumentForms are the argument of a pattern, compiled for each kind of resource.
type argumentForms struct {
	star         bool // the argument is nothing but stars
	plain, lower match.TextGlob
	object       *match.ObjectGlob // nil if the argument is no object of JSON with a * as a value
	path         *match.PathGlob   // nil if the argument is no path
	pathErr      error
	url          *match.URLGlob // nil if the argument is no URL
	urlErr       error
	command      *shell.Pattern      // for deny and ask
	shell        *shell.AllowPattern // for allow; nil if the argument is not one command of plain words
	shellErr     error
}

// NewPattern reads tool or tool(argument).
func NewPattern(text string) (*Pattern, error) {
	name, argument, hasArgument := strings.Cut(text, "(")
	if name == "" {
		return nil, errors.New("names no tool: write tool or tool(argument)")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }) || strings.Contains(name, ")") {
		return nil, fmt.Errorf("%q is no tool name: write tool or tool(argument), such as bash(git *)", name)
	}
	p := &Pattern{Text: text, Tool: match.NewGlob(name), Any: !hasArgument}
	if !p.Tool.Literal() && p.Tool.TextLen() > 0 {
		p.mended = toolname.Pattern(p.Tool.Parts)
	}
	if p.Any {
		return p, nil
	}
	if class, ok := classes[name]; ok {
		p.class = &class
	}
	argument, closed := strings.CutSuffix(argument, ")")
	if !closed {
		return nil, errors.New("does not end with ): write tool(argument)")
	}
	if argument == "" {
		return nil, fmt.Errorf("has an empty argument: write %s for any arguments", name)
	}
	p.argument = newArgument(argument)
	return p, nil
}

func newArgument(text string) argumentForms {
	a := argumentForms{
		star:    strings.Trim(text, "*") == "",
		plain:   match.NewTextGlob(text),
		lower:   match.NewTextGlob(match.FoldCase(text)),
		command: shell.NewPattern(shell.WithoutFolder(text)),
	}
	a.object = match.NewObjectGlob(text)
	a.path, a.pathErr = match.NewPathGlob(text)
	a.url, a.urlErr = match.NewURLGlob(text)
	a.shell, a.shellErr = shell.NewAllowPattern(text)
	return a
}

// classes are the tool names that are for every tool of a kind, in a pattern with an argument.
var classes = map[string]call.Kind{"path": call.Path, "shell": call.Shell}

// IsFor reports whether a pattern is for a tool with a resource of a kind.
func (p *Pattern) IsFor(tool string, k call.Kind) bool {
	if p.oneServer && !isOneName(strings.TrimPrefix(tool, p.Tool.Prefix())) {
		return false // it may be of another server
	}
	return (p.Tool.Match(tool) || (p.class != nil && k == *p.class) || (p.used && k == call.Shell)) && p.Rule.concerns(k)
}

// isOneName reports whether a text is the name of a tool without that of a server.
func isOneName(text string) bool {
	return text != "" && text[0] != '_' && !strings.Contains(text, "__")
}

// Fits returns an error if a pattern fits none of the kinds of the tools that it is for.
func (p *Pattern) Fits(kinds []call.Kind, allows bool) error {
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

// check returns why a pattern cannot be meant for a tool of a kind.
func (p *Pattern) check(k call.Kind, allows bool) error {
	switch {
	case p.Any || (p.argument.star && !allows) || (p.Rule != nil && p.Rule.MatchesArguments):
		return nil
	case k == call.Path:
		return p.argument.pathErr
	case k == call.URL:
		return p.argument.urlErr
	case k == call.Shell && allows:
		return p.argument.shellErr
	}
	return nil
}

// keys returns the lookup keys of a deny or ask pattern, or none if any resource may match. A
// resource that matches has one of them.
func (p *Pattern) keys(k call.Kind) []string {
	if p.Any || p.argument.star || p.Rule.MatchesArguments || (p.used && k == call.Shell) {
		return nil
	}
	switch k {
	case call.Path:
		return p.argument.pathKeys()
	case call.URL:
		if url := p.argument.url; url != nil && url.Fixed {
			return []string{url.Key}
		}
	case call.Shell:
		return p.argument.commandKeys()
	case call.Plain:
		if lower := p.argument.lower; len(lower) == 1 && lower[0].Literal() {
			return []string{lower[0].Prefix()}
		}
	}
	return nil
}

func (a *argumentForms) pathKeys() []string {
	if a.path == nil {
		return nil
	}
	return a.path.Keys
}

// commandKeys returns no keys if the first word is quoted.
func (a *argumentForms) commandKeys() []string {
	quoted := a.shell != nil && !a.shell.Begins(a.command.Key)
	if quoted || a.command.Key == "" {
		return nil
	}
	return []string{a.command.Key}
}

// byStrictness orders patterns by their settings: the strictest first, then the longest.
func byStrictness(a, b *Pattern) int {
	return cmp.Or(
		cmp.Compare(b.Rule.Required, a.Rule.Required),
		cmp.Compare(riskLevel(b.Rule.Risk), riskLevel(a.Rule.Risk)),
		cmp.Compare(len(b.Text), len(a.Text)),
		cmp.Compare(a.Text, b.Text),
		cmp.Compare(a.Rule.Reason, b.Rule.Reason),
		cmp.Compare(b.Rule.OnTimeout, a.Rule.OnTimeout),
		cmp.Compare(a.Rule.Timeout, b.Rule.Timeout),
		slices.Compare(a.Rule.Reviewers, b.Rule.Reviewers),
		a.Rule.Escalate.Compare(b.Rule.Escalate),
		cmp.Compare(a.Rule.When.text(), b.Rule.When.text()),
		cmp.Compare(a.Line, b.Line),
	)
}

// Basis returns the basis of a verdict that the pattern decides.
func (p *Pattern) Basis(a call.Action) Basis {
	b := Basis{Action: a, Rule: p.Where, Risk: p.Rule.Risk, Reason: p.Rule.Reason}
	if b.Reason == "" {
		b.Reason = "A policy rule " + verb(a) + " " + p.Text + "."
	}
	if p.Rule.Grant != nil {
		b.Grants = []string{p.Rule.Grant.ID}
	}
	return b
}

func verb(a call.Action) string {
	switch a {
	case call.Allow:
		return "allows"
	case call.Deny:
		return "denies"
	default:
		return "requires approval for"
	}
}

// allowKeys is keys for an allow pattern. These keys are more specific, as allow patterns need not
// match through quoting, folders and letter case: the words before the first * of a command, or the
// first segment of a path.
func (p *Pattern) allowKeys(k call.Kind) []string {
	switch {
	case p.Any || p.argument.star || p.Rule.MatchesArguments:
	case k == call.Shell && p.argument.shell != nil:
		if key := p.argument.shell.Key(); key != "" {
			return []string{key}
		}
	case k == call.Path && p.argument.path != nil && !p.argument.path.Fixed && !p.argument.path.Dotted:
		if first := match.FirstSegment(p.argument.path.Lower); !strings.ContainsAny(first, `*\`) {
			return []string{call.RootKey(&p.argument.path.Location, first)}
		}
	}
	return p.keys(k)
}
