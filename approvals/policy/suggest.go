package policy

import (
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
		if g, err := newPathGlob(argument); err != nil || !g.covers(r.path) {
			return ""
		}
	case asURL:
		argument, _, _ = strings.Cut(argument, "?")
		if g, err := newURLGlob(argument); err != nil || !g.covers(r.url) {
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
	return argument != "" && len(argument) <= maxSuggestion && !strings.Contains(argument, "*") && visible(argument) == argument
}

// suggestCommands finds an exact pattern for each command, of which all are
// needed, and of a single command a wider one too.
func (s *subject) suggestCommands() []string {
	var commands []*command
	for _, script := range s.scripts() {
		if script.notPlain != "" {
			return []string{}
		}
		commands = append(commands, script.commands...)
	}
	found := []string{}
	for _, c := range commands {
		exact := quoteWords(c.words)
		if p, err := newShellPattern(exact); err != nil || !p.covers(c, s.policy.programs) || !meansItself(exact) {
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
func (s *subject) suggestWider(c *command) []string {
	n := len(c.words)
	if n < 3 || c.runs || len(s.secretWords(c)) > 0 || s.policy.programs.writes(c.words) || !s.policy.programs.listed(c.words[0]) || slices.Contains(c.star[1:], false) || c.wild != nil || strings.Contains(c.words[0], "/") || slices.ContainsFunc(c.words, isOption) {
		return nil
	}
	return []string{s.call.Tool + "(" + quoteWords(c.words[:n-1]) + " *)"}
}

// quoteWords spells a command so that it parses to the same words.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || !plainLiteral(w, true) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
