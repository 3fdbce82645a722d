package policy

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// maxPattern is the most bytes of a suggested pattern.
const maxPattern = 500

// suggestedPatterns returns patterns that would allow the call. The exact ones come first, and the call needs all of
// them. Wider ones, with a *, follow. A wider one never allows another program, another task of a
// project, files that run later, paths in another folder, or other arguments of a tool of which nothing is known.
func (q *question) suggestedPatterns() []string {
	c := q.c
	switch {
	case isUncertain(c), asksCollector(c):
		return []string{}
	case c.Kind == call.Shell:
		return suggestCommands(c)
	}
	patterns := exactPatterns(c)
	switch {
	case c.Kind == call.Path && len(patterns) > 0:
		patterns = append(patterns, q.suggestFolders()...)
	case c.Kind == call.URL && len(patterns) > 0:
		patterns = append(patterns, suggestHosts(c)...)
	case c.Tool != nil && c.Tool.Risk == approvals.RiskLow && !c.Tool.LowAtTimes() && c.Kind == call.Plain && !c.Call.FreeText:
		patterns = append(patterns, c.Call.Tool+"(*)")
	case c.Kind == call.Plain:
		patterns = append(patterns, suggestValues(c)...)
	}
	return unique(patterns)
}

// isUncertain reports whether it is not certain what a call is about, so that no pattern with an argument covers it.
func isUncertain(c *call.Reading) bool {
	return len(c.Doubts) > 0 || c.Ambiguity != "" || c.Partial != "" || c.Filter != ""
}

// exactPatterns returns a pattern for each resource, or none if one cannot be written.
func exactPatterns(c *call.Reading) (patterns []string) {
	for i := range c.Resources() {
		argument := exactly(c, &c.Candidates[i])
		if argument == "" {
			return nil
		}
		patterns = append(patterns, c.Call.Tool+"("+argument+")")
	}
	return patterns
}

// unique returns a list without repetitions, in its order, never nil.
func unique(list []string) []string {
	if list == nil {
		return []string{}
	}
	distinct := list[:0]
	for _, text := range list {
		if !slices.Contains(distinct, text) {
			distinct = append(distinct, text)
		}
	}
	return distinct
}

// exactly returns the argument of a pattern that allows a resource alone, or "".
func exactly(c *call.Reading, r *call.Candidate) string {
	argument := r.Text
	switch c.Kind {
	case call.Path:
		if argument != "/" {
			argument = strings.TrimRight(argument, `/\`)
		}
		if g, err := match.NewPathGlob(argument); err != nil || !g.Covers(r.Path) || (r.Secret != "" && !c.Known.Profiles.NamesSecret(g)) {
			return ""
		}
	case call.URL:
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
	return argument != "" && len(argument) <= maxPattern && !strings.Contains(argument, "*") && match.Visible(argument) == argument
}

// suggestCommands returns an exact pattern for each command, and a wider one for those that only
// read or check.
func suggestCommands(c *call.Reading) []string {
	exact, wider := make([]string, 0, 4), make([]string, 0, 2)
	if slices.ContainsFunc(c.Executions(), readsAnything) {
		return []string{}
	}
	for _, script := range c.Scripts() {
		commands, ok := script.ToCover(true)
		if !ok || len(commands) > maxCommands { // more than a reviewer is shown
			return []string{}
		}
		for _, command := range commands {
			text := command.Suggest(c.Known.Programs, len(command.Words), "")
			if !meansItself(text) {
				return []string{}
			}
			exact = append(exact, c.Call.Tool+"("+text+")")
			wider = appendWider(wider, c, command)
		}
	}
	return unique(append(exact, wider...))
}

// readsAnything reports whether a command does what a text asks for that it reads and no pattern is compared with: a patch, or
// the input of a command that runs or sends it, or of which nothing is known.
func readsAnything(e *call.Execution) bool {
	switch {
	case e.Command.Redirect || !(e.Command.Fed() || e.Command.Piped()):
		return false
	case e.Use.Operands == programs.PatchPaths:
		return true
	}
	return e.Use.Class == programs.Unknown || !e.Use.Class.OnlyKnown()
}

// appendWider adds the wider patterns for a command, or for the commands that it replaces.
func appendWider(patterns []string, c *call.Reading, command *shell.Command) []string {
	if replaced := command.Instead(); len(replaced) > 0 {
		for _, part := range replaced {
			patterns = appendWider(patterns, c, part)
		}
		return patterns
	}
	if e := c.Execution(command); len(e.Secrets()) == 0 {
		for _, text := range widerCommands(c, e) {
			patterns = append(patterns, c.Call.Tool+"("+text+")")
		}
	}
	return patterns
}
