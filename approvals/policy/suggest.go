package policy

import (
	"net/netip"
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

// suggestedPatterns returns patterns that would allow a call. The exact ones come first, and the call needs all of
// them. Wider ones, with a *, follow. A wider one never allows another program, another task of a
// project, or files that run later. folders returns those for the folders of the files of a call.
func suggestedPatterns(c *call.Reading, folders func() []string) []string {
	if len(c.Doubts) > 0 || c.Ambiguity != "" || c.Partial != "" || c.Filter != "" {
		return []string{}
	}
	if c.Kind == call.Shell {
		return suggestCommands(c)
	}
	var patterns []string
	for i := range c.Resources() {
		argument := exactly(c, &c.Candidates[i])
		if argument == "" {
			patterns = nil
			break
		}
		patterns = append(patterns, c.Call.Tool+"("+argument+")")
	}
	switch {
	case c.Kind == call.Path && len(patterns) > 0:
		patterns = append(patterns, folders()...)
	case c.Kind == call.URL && len(patterns) > 0:
		patterns = append(patterns, suggestHosts(c)...)
	case mayOpenTool(c):
		patterns = append(patterns, c.Call.Tool+"(*)")
	}
	return unique(patterns)
}

// suggestHosts returns patterns for all pages of the hosts that a reader of the web asks by https,
// where these are named and not of this machine's network.
func suggestHosts(c *call.Reading) []string {
	if c.Tool.RiskOr("") != approvals.RiskMedium {
		return nil
	}
	var patterns []string
	for _, r := range c.Resources() {
		if r.URL.Scheme != "https" || r.URL.Port != "" || !isPublicName(r.URL.Host) {
			return nil
		}
		patterns = append(patterns, c.Call.Tool+"(https://"+r.URL.Host+"/**)")
	}
	return patterns
}

// isPublicName reports whether a host is a name that the DNS of all may have, and no address.
func isPublicName(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Contains(host, ".") && !slices.Contains([]string{"local", "localhost", "internal", "lan", "test", "home", "corp"}, last)
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

// resourceNames are arguments by which tools name a program, a file or an address.
var resourceNames = []string{"args", "cmd", "code", "command", "commands", "endpoint", "file", "file_path", "filename", "filePath", "host", "input", "path", "paths", "query", "script", "sql", "statement", "target", "uri", "url", "urls"}

// mayOpenTool reports whether a pattern for every call of a tool is suggested: it has no resource,
// also by the names of its arguments, and is not known as dangerous; or its resource is a text, such as a list of
// tasks, and it is known as harmless.
func mayOpenTool(c *call.Reading) bool {
	switch {
	case c.Tool != nil && c.Tool.Risk == approvals.RiskLow && c.Kind == call.Plain && !c.Call.FreeText:
		return true
	case c.Call.FreeText || len(c.Whole()) > maxPattern:
		return false
	case c.Tool != nil:
		return !c.Tool.Typed && c.Tool.Risk != approvals.RiskHigh && c.Tool.Risk != approvals.RiskCritical
	}
	args := c.Args()
	return !slices.ContainsFunc(resourceNames, func(name string) bool { return args[name] != nil })
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
			text := command.Suggest(c.Known.Programs, len(command.Words), false)
			if !meansItself(text) {
				return []string{}
			}
			exact = append(exact, c.Call.Tool+"("+text+")")
			wider = appendWider(wider, c, command)
		}
	}
	return unique(append(exact, wider...))
}

// readsAnything reports whether a command, of which nothing is known, reads a text that patterns are
// not compared with, such as the patch of apply_patch.
func readsAnything(e *call.Execution) bool {
	return e.Use.Class == programs.Unknown && e.Command.Fed() && !e.Command.Redirect
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
		if text := widerCommand(c.Known.Programs, &e.Use); text != "" {
			patterns = append(patterns, c.Call.Tool+"("+text+")")
		}
	}
	return patterns
}

// exactOnly are programs whose operands are other folders, or names and arguments of scripts of a
// project.
var exactOnly = []string{"cd", "npm", "pnpm", "yarn", "bun"}

// widerCommand returns a pattern for all operands and harmless options of a reader or check, or "".
func widerCommand(t *shell.Programs, u *shell.Use) string {
	words := u.Command.Words
	switch {
	case slices.Contains(exactOnly, u.Program) || strings.Contains(words[0], "/") || slices.Contains(words, "--"):
		return ""
	case u.Class == programs.Fetch && t.MayOpenLast(u.Command):
		return shell.QuoteWords(words[:len(words)-1]) + " *"
	case u.Class != programs.Read && u.Class != programs.Check:
		return ""
	}
	for n := u.Named; n <= len(words); n++ {
		begin := words[:n:n]
		if other, _ := t.ClassOf(append(begin, "x"), nil); other.Class != u.Class {
			return "" // it depends on the operand
		}
		if text := u.Command.Suggest(t, n, true); text != "" && len(text) <= maxPattern && match.Visible(text) == text {
			return text
		}
	}
	return ""
}
