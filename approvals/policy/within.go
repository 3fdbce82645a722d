package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// findWithin notes the words of a command, without its name, in which one that is not
// known for certain may name another. The name of a long option is no such word, nor
// is an option that the table lists.
func (c *command) findWithin() {
	words := make([]string, 0, len(c.words))
	for i, word := range c.words[1:] {
		if isOption(word) && c.star[i+1] {
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
	c.within = appendLoose(c.within, strings.Join(words, " "))
}

// assigned notes the values that a program sets in the environment of what it runs.
func (f *finder) assigned(c *command, own []word) {
	for _, one := range own {
		if isAssignment(one.text) {
			c.within = appendLoose(c.within, one.text)
			f.script.opens = f.script.opens || one.opens()
		}
	}
}

// readsScript reports whether a command runs what it reads.
func (f *finder) readsScript(c *command) bool {
	operands := false
	for _, word := range c.words[1:] {
		if isInput(word) || !operands && c.interprets && (word == "-" || readsBefore(word) && f.isShell(c.words[0])) {
			return c.interprets || c.words[0] == "." || c.words[0] == "source"
		}
		operands = operands || isOperand(word)
	}
	w := f.wrapper(c.words[0])
	return c.interprets && !operands || c.piped && f.passesOn(c) || w != nil && (w.shell || w.scripts) && len(c.inner) == 0 && !c.seen
}

// readsBefore reports whether an option of a shell is -s: it reads its script, whatever
// operands follow.
func readsBefore(word string) bool {
	return isOption(word) && !strings.HasPrefix(word, "--") && strings.Contains(word, "s")
}

// passesOn reports whether a command may hand what it reads to a program that
// runs it, as docker exec -i does.
func (f *finder) passesOn(c *command) bool {
	return !c.seen && slices.ContainsFunc(c.words[1:], f.isInterpreter)
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
func (c *command) runsFile() bool {
	return !c.seen && (c.interprets || c.words[0] == "." || c.words[0] == "source" || strings.Contains(c.words[0], "/")) ||
		slices.ContainsFunc(c.inner, (*command).runsFile)
}

// executes reports whether a command, or one that it runs, may run what it reads.
func (c *command) executes() bool {
	if len(c.inner) == 0 {
		return !c.seen
	}
	return slices.ContainsFunc(c.inner, (*command).executes)
}
