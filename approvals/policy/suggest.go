package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/resource"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// maxSuggestion is the length in bytes beyond which an exact pattern helps
// nobody.
const maxSuggestion = 500

// suggest finds patterns that would allow the call, from exact to a little more
// general: never another program, never other options.
func suggest(c *resource.ParsedCall) []string {
	if len(c.Doubts) > 0 || c.Ambiguity != "" || c.Partial != "" || c.Filter != "" {
		return []string{}
	}
	if c.Kind == resource.Shell {
		return suggestCommands(c)
	}
	found := []string{}
	for i := range c.Resources() {
		argument := exactly(c, &c.Candidates[i])
		if argument == "" {
			return []string{}
		}
		if text := c.Call.Tool + "(" + argument + ")"; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found
}

// exactly returns the argument of a pattern that allows a resource alone, or "".
func exactly(c *resource.ParsedCall, r *resource.Candidate) string {
	argument := r.Text
	switch c.Kind {
	case resource.Path:
		if argument != "/" {
			argument = strings.TrimRight(argument, "/")
		}
		if g, err := match.NewPathGlob(argument); err != nil || !g.Covers(r.Path) || (r.Secret != "" && !c.Profiles().NamesSecret(g)) {
			return ""
		}
	case resource.URL:
		argument, _, _ = strings.Cut(argument, "?")
		if g, err := match.NewURLGlob(argument); err != nil || !g.Covers(r.URL) {
			return ""
		}
	}
	if !meansItself(argument) {
		return ""
	}
	return argument
}

// meansItself reports whether an argument of a pattern matches just itself and
// can be read by a person.
func meansItself(argument string) bool {
	return argument != "" && len(argument) <= maxSuggestion && !strings.Contains(argument, "*") && match.Visible(argument) == argument
}

// suggestCommands finds an exact pattern for each command, of which all are
// needed, and of a single command a wider one too.
func suggestCommands(c *resource.ParsedCall) []string {
	var commands []*shell.Command
	for _, script := range c.Scripts() {
		if script.NotSimple != "" {
			return []string{}
		}
		commands = append(commands, script.Commands...)
	}
	found := []string{}
	for _, command := range commands {
		exact := shell.QuoteWords(command.Words)
		if p, err := shell.NewAllowPattern(exact); err != nil || !p.Covers(command, c.Programs()) || !meansItself(exact) {
			return []string{}
		}
		if text := c.Call.Tool + "(" + exact + ")"; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	if len(commands) == 1 {
		found = append(found, suggestWider(c, commands[0])...)
	}
	return found
}

// suggestWider leaves the last operand open, of a command that has a few, unless the
// program writes to its operands. What is not known of a program may make another one
// of its operands, so it is only done for one whose options are known.
func suggestWider(c *resource.ParsedCall, command *shell.Command) []string {
	if !c.Programs().MayOpenLast(command) || len(c.SecretWords(command)) > 0 {
		return nil
	}
	return []string{c.Call.Tool + "(" + shell.QuoteWords(command.Words[:len(command.Words)-1]) + " *)"}
}
