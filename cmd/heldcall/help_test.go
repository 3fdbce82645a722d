package main

import (
	"io"
	"strings"
	"testing"
)

// Each command has two examples in its help, which are command lines of that command.
func TestExamplesInTheHelp(t *testing.T) {
	parser := newParser(t.Context(), &streams{nil, io.Discard, io.Discard}, nil)
	commands := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(true) {
		commands[leaf.Path()] = true
		lines := strings.Split(examples[leaf.Path()], "\n")
		if len(lines) != 2 || lines[0] == lines[1] {
			t.Errorf("%s has the examples %q", leaf.Path(), lines)
		}
		for _, line := range lines {
			var words []string
			for _, word := range shellWord.FindAllString(line, -1) {
				words = append(words, strings.Trim(word, "'"))
			}
			parsed, err := parser.Parse(words[1:])
			if err != nil {
				t.Errorf("%s: %v", line, err)
			} else if got := parsed.Selected().Path(); got != leaf.Path() {
				t.Errorf("%s is an example of %s, and shown for %s", line, got, leaf.Path())
			}
		}
	}
	for path := range examples {
		if !commands[path] {
			t.Errorf("%q is no command", path)
		}
	}
}

// The program's help lists commands in groups, and the flags of the connection are in it alone.
func TestHelpInGroups(t *testing.T) {
	help := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		parser := newParser(t.Context(), &streams{nil, &out, io.Discard}, nil)
		parser.Exit = func(int) {}
		_, _ = parser.Parse(append(args, "--help"))
		return out.String()
	}
	all := help()
	for _, want := range []string{"\nRun agents:\n  serve ", "\nDecide:\n  watch ", "\nSteer agents:\n  runs ", "\nSet up:\n  policy ", "\nOperate:\n  audit ", "--token-file"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	one := help("approve")
	if strings.Contains(one, "--console=URL") || !strings.Contains(one, "see heldcall --help") || !strings.Contains(one, "\nExamples:\n  heldcall approve ") {
		t.Errorf("the help of a command is\n%s", one)
	}
	if list := help("grants"); !strings.Contains(list, "\nCommands:\n  grants list ") || !strings.Contains(list, "\nExamples:\n  heldcall grants\n") {
		t.Errorf("the help of commands below another is\n%s", list)
	}
}
