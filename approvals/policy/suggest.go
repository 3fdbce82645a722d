package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/resource"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// maxSuggestion is the most bytes of a suggested pattern.
const maxSuggestion = 500

// suggest returns patterns that would allow the call, from exact to slightly wider: never another
// program, never other options.
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
		if g, err := match.NewPathGlob(argument); err != nil || !g.Covers(r.Path) || (r.Secret != "" && !c.Known.Profiles.NamesSecret(g)) {
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

// meansItself reports whether an argument of a pattern matches only itself and is readable.
func meansItself(argument string) bool {
	return argument != "" && len(argument) <= maxSuggestion && !strings.Contains(argument, "*") && match.Visible(argument) == argument
}

// suggestCommands returns an exact pattern for each command (all are needed), and for a
// single command a wider one too.
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
		exact := command.Display()
		if p, err := shell.NewAllowPattern(exact); err != nil || !p.Covers(command, c.Known.Programs) || !meansItself(exact) {
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

// suggestWider replaces the last operand by a *, unless the program writes to its operands or has
// unknown options, which may let an operand run another program.
func suggestWider(c *resource.ParsedCall, command *shell.Command) []string {
	if !c.Known.Programs.MayOpenLast(command) || len(c.SecretWords(command)) > 0 {
		return nil
	}
	return []string{c.Call.Tool + "(" + shell.QuoteWords(command.Words[:len(command.Words)-1]) + " *)"}
}
