package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxWithin is how many words of a command are taken for the beginning of another.
const maxWithin = 128

// findWithin notes the texts in a command in which one that is not known for
// certain may name another: from each word on, and from each within a word.
func (c *command) findWithin() {
	text := strings.Join(strings.FieldsFunc(c.text, func(r rune) bool {
		return r == 0 || strings.ContainsRune(" \t\n;|&()<>[]{},`$'\"\\", r)
	}), " ")
	for {
		i := strings.IndexAny(text, " =")
		if i < 0 {
			return
		}
		text = text[i+1:]
		if c.within = append(c.within, text); text != "" && text[0] == '/' {
			c.within = append(c.within, text[strings.LastIndexByte(firstWord(text), '/')+1:])
		}
		if len(c.within) > maxWithin {
			c.hides = true
			return
		}
	}
}

// readsScript reports whether a command runs what it reads.
func (f *finder) readsScript(c *command) bool {
	operands := false
	for _, word := range c.words[1:] {
		if isInput(word) {
			return c.interprets || c.words[0] == "." || c.words[0] == "source"
		}
		operands = operands || isOperand(word)
	}
	w := f.wrapper(c.words[0])
	return c.interprets && !operands || c.piped && f.passesOn(c) || w != nil && (w.shell || w.scripts) && len(c.inner) == 0 && !c.seen
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
