package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// findMentions notes the words of a command that may name another one: all but its name, listed
// options and the names of long options.
func (c *Command) findMentions() {
	words := make([]string, 0, len(c.Words))
	for i, word := range c.Words[1:] {
		if isOption(word) && c.mayStar[i+1] {
			continue
		}
		if strings.HasPrefix(word, "--") {
			name, value, _ := strings.Cut(strings.ToLower(word), "=")
			if nameEnd(name) == len(name) {
				word = value
			}
		}
		words = append(words, word)
	}
	c.mentions = appendLoose(c.mentions, strings.Join(words, " "))
}

// appendLoose adds the readings of a text: separators become one space, quotes are removed, and
// escapes are replaced as by printf.
func appendLoose(texts []string, text string) []string {
	text = match.FoldCase(text)
	texts = append(texts, spaced(text))
	if strings.ContainsAny(text, "'\"\\") {
		texts = append(texts, spaced(strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(text)))
	}
	if strings.Contains(text, `\`) {
		texts = append(texts, spaced(match.FoldCase(withoutEscapes(text))))
	}
	return texts
}

// assigned notes the environment variables that a program sets for the command that it runs.
func (f *finder) assigned(c *Command, own []word) {
	for _, one := range own {
		if programs.IsAssignment(one.Text) {
			c.mentions = appendLoose(c.mentions, one.Text)
			f.script.opens = f.script.opens || one.mayOpen()
		}
	}
}

// setsLook reports whether a word in front of the command that env runs sets a variable as an assignment may that changes
// nothing of what runs.
func (t *Programs) setsLook(one word) bool {
	name, value, found := strings.Cut(one.Text, "=")
	return found && one.certain() && t.Variables.Sets(name, value)
}

// readsScript reports whether a command runs its input.
func (f *finder) readsScript(c *Command) bool {
	operands := false
	for _, word := range c.Words[1:] {
		if isInput(word) || (!operands && f.readsAfter(c, word)) {
			return c.runsFileOf()
		}
		operands = operands || IsOperand(word)
	}
	switch {
	case c.kind.interprets && !operands, c.data.piped && f.passesOn(c):
		return true
	}
	return f.table.startsShell(c)
}

// readsAfter reports whether a word before the operands makes an interpreter read its script: - or,
// of a shell, -s.
func (f *finder) readsAfter(c *Command, word string) bool {
	return c.kind.interprets && (word == "-" || (readsBefore(word) && f.table.IsShell(c.Words[0])))
}

// runsFileOf reports whether a command runs the file that is its operand.
func (c *Command) runsFileOf() bool {
	return c.kind.interprets || c.Words[0] == "." || c.Words[0] == "source"
}

// startsShell reports whether a program without a command to run starts a shell, or may get scripts
// in other ways.
func (t *Programs) startsShell(c *Command) bool {
	w := t.Wrapper(c.Words[0])
	return w != nil && (w.Shell || w.Scripts) && len(c.inner) == 0 && !c.complete
}

// readsBefore reports whether an option of a shell includes -s.
func readsBefore(word string) bool {
	return isOption(word) && !strings.HasPrefix(word, "--") && strings.Contains(word, "s")
}

// passesOn reports whether a command may pass its input to an interpreter, as docker exec -i does.
func (f *finder) passesOn(c *Command) bool {
	return !c.complete && slices.ContainsFunc(c.Words[1:], f.table.IsInterpreter)
}

// isInput reports whether an operand is the path of the program's input.
func isInput(word string) bool {
	return word == "/dev/stdin" || strings.HasPrefix(word, "/dev/fd/") || strings.HasPrefix(word, "/proc/self/fd/")
}

// givesInput reports whether a redirection is of input.
func givesInput(r *syntax.Redirect) bool {
	return slices.Contains([]syntax.RedirOperator{syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc}, r.Op)
}

// runsFile reports whether a command, or one that it runs, may run a file named by the script.
func (c *Command) runsFile() bool {
	return (!c.complete && (c.runsFileOf() || strings.Contains(c.Words[0], "/"))) ||
		slices.ContainsFunc(c.inner, (*Command).runsFile)
}

// executes reports whether a command, or one that it runs, may run its input.
func (c *Command) executes() bool {
	if len(c.inner) == 0 {
		return !c.complete
	}
	return slices.ContainsFunc(c.inner, (*Command).executes)
}
