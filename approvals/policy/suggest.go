package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"slices"
	"strings"
)

// maxSuggestion is the length in bytes beyond which an exact pattern helps
// nobody.
const maxSuggestion = 500

// suggest finds patterns that would allow the call, from exact to a little more
// general: never another program, never other options.
func (s *subject) suggest() []string {
	if len(s.doubts) > 0 || s.unclear != "" || s.beyond != "" || s.filter != "" {
		return []string{}
	}
	if s.kind == asShell {
		return s.suggestCommands()
	}
	found := []string{}
	for i := range s.resources() {
		argument := s.exactly(&s.readings[i])
		if argument == "" {
			return []string{}
		}
		if text := s.call.Tool + "(" + argument + ")"; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found
}

// exactly is the argument of a pattern for a resource alone, or "".
func (s *subject) exactly(r *reading) string {
	argument := r.text
	switch s.kind {
	case asPath:
		if argument != "/" {
			argument = strings.TrimRight(argument, "/")
		}
		if g, err := match.NewPathGlob(argument); err != nil || !g.Covers(r.path) {
			return ""
		}
	case asURL:
		argument, _, _ = strings.Cut(argument, "?")
		if g, err := match.NewURLGlob(argument); err != nil || !g.Covers(r.url) {
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
func (s *subject) suggestCommands() []string {
	var commands []*shell.Command
	for _, script := range s.scripts() {
		if script.NotSimple != "" {
			return []string{}
		}
		commands = append(commands, script.Commands...)
	}
	found := []string{}
	for _, c := range commands {
		exact := shell.QuoteWords(c.Words)
		if p, err := shell.NewAllowPattern(exact); err != nil || !p.Covers(c, s.policy.programs) || !meansItself(exact) {
			return []string{}
		}
		if text := s.call.Tool + "(" + exact + ")"; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	if len(commands) == 1 {
		found = append(found, s.suggestWider(commands[0])...)
	}
	return found
}

// suggestWider leaves the last operand open, of a command that has a few, unless the
// program writes to its operands. What is not known of a program may make another one
// of its operands, so it is only done for one whose options are known.
func (s *subject) suggestWider(c *shell.Command) []string {
	if !s.policy.programs.MayOpenLast(c) || len(s.secretWords(c)) > 0 {
		return nil
	}
	return []string{s.call.Tool + "(" + shell.QuoteWords(c.Words[:len(c.Words)-1]) + " *)"}
}
