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
	if len(s.doubts) > 0 || s.unclear != "" {
		return []string{}
	}
	if s.kind == asShell {
		return s.suggestCommands()
	}
	argument := s.text
	if s.kind == asPath {
		if argument != "/" {
			argument = strings.TrimRight(argument, "/")
		}
		if g, err := newPathGlob(argument); err != nil || !g.covers(s.readings[0].path) {
			return []string{}
		}
	}
	if !meansItself(argument) {
		return []string{}
	}
	return []string{s.call.Tool + "(" + argument + ")"}
}

// meansItself reports whether an argument of a pattern matches just itself and
// can be read by a person.
func meansItself(argument string) bool {
	return argument != "" && len(argument) <= maxSuggestion && !strings.Contains(argument, "*") && visible(argument) == argument
}

// suggestCommands finds an exact pattern for each command, of which all are
// needed, and of a single command a wider one too.
func (s *subject) suggestCommands() []string {
	script := s.readings[0].script
	if script.notPlain != "" {
		return []string{}
	}
	found := []string{}
	for _, c := range script.commands {
		exact := quoteWords(c.words)
		if p, err := newShellPattern(exact); err != nil || !p.covers(c) || !meansItself(exact) {
			return []string{}
		}
		if text := s.call.Tool + "(" + exact + ")"; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	if len(script.commands) == 1 {
		found = append(found, s.suggestWider(script.commands[0])...)
	}
	return found
}

// suggestWider leaves the last operand open, of a command that has a few.
func (s *subject) suggestWider(c command) []string {
	n := len(c.words)
	if n < 3 || c.runs || strings.Contains(c.words[0], "/") || slices.ContainsFunc(c.words, isOption) {
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
