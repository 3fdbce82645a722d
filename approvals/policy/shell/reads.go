package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// findMentions notes the words of a command, without its name, in which one that is not
// known for certain may name another. The name of a long option is no such word, nor
// is an option that the table lists.
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

// assigned notes the values that a program sets in the environment of what it runs.
func (f *finder) assigned(c *Command, own []word) {
	for _, one := range own {
		if isAssignment(one.text) {
			c.mentions = appendLoose(c.mentions, one.text)
			f.script.opens = f.script.opens || one.opens()
		}
	}
}

// readsScript reports whether a command runs what it reads.
func (f *finder) readsScript(c *Command) bool {
	operands := false
	for _, word := range c.Words[1:] {
		if isInput(word) || !operands && c.interprets && (word == "-" || readsBefore(word) && f.table.isShell(c.Words[0])) {
			return c.interprets || c.Words[0] == "." || c.Words[0] == "source"
		}
		operands = operands || IsOperand(word)
	}
	w := f.table.wrapper(c.Words[0])
	return c.interprets && !operands || c.piped && f.passesOn(c) || w != nil && (w.shell || w.scripts) && len(c.inner) == 0 && !c.complete
}

// readsBefore reports whether an option of a shell is -s: it reads its script, whatever
// operands follow.
func readsBefore(word string) bool {
	return isOption(word) && !strings.HasPrefix(word, "--") && strings.Contains(word, "s")
}

// passesOn reports whether a command may hand what it reads to a program that
// runs it, as docker exec -i does.
func (f *finder) passesOn(c *Command) bool {
	return !c.complete && slices.ContainsFunc(c.Words[1:], f.table.isInterpreter)
}

// isInput reports whether an operand stands for what a program is given to read.
func isInput(word string) bool {
	return word == "/dev/stdin" || strings.HasPrefix(word, "/dev/fd/") || strings.HasPrefix(word, "/proc/self/fd/")
}

// givesInput reports whether a redirection is one of what a command reads.
func givesInput(r *syntax.Redirect) bool {
	return slices.Contains([]syntax.RedirOperator{syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc}, r.Op)
}

// runsFile reports whether a command, or one that it runs, may run a file of a name that
// the script chooses.
func (c *Command) runsFile() bool {
	return !c.complete && (c.interprets || c.Words[0] == "." || c.Words[0] == "source" || strings.Contains(c.Words[0], "/")) ||
		slices.ContainsFunc(c.inner, (*Command).runsFile)
}

// executes reports whether a command, or one that it runs, may run what it reads.
func (c *Command) executes() bool {
	if len(c.inner) == 0 {
		return !c.complete
	}
	return slices.ContainsFunc(c.inner, (*Command).executes)
}
