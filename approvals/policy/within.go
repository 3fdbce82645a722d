package policy

import (
	"cmp"
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

// span is a part of a script's source.
type span struct{ from, to int }

func spanOf(n syntax.Node) span { return span{int(n.Pos().Offset()), int(n.End().Offset())} }

func (a span) holds(b span) bool { return a.from <= b.from && b.to <= a.to }

// input is a source of what the commands of a statement read: a here-document, or what
// is written to a pipe.
type input struct {
	of   span // the statement
	text span
}

// inputsOf are the here-documents and here-strings of a statement.
func inputsOf(stmt *syntax.Stmt) []input {
	var found []input
	for _, r := range stmt.Redirs {
		switch {
		case r.Hdoc != nil:
			found = append(found, input{spanOf(stmt), spanOf(r.Hdoc)})
		case r.Op == syntax.WordHdoc && r.Word != nil:
			found = append(found, input{spanOf(stmt), spanOf(r.Word)})
		}
	}
	return found
}

// writesFile reports whether a statement redirects its output to a file.
func writesFile(stmt *syntax.Stmt) bool {
	return slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool {
		return !givesInput(r) && !harmlessRedirect(r)
	})
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

// looksInto notes the parts of a script that are no words of a command and may name one.
func (f *finder) looksInto(file *syntax.File, src string, spans []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	for i, one := range spans {
		if i > 0 && spans[i-1].holds(one) {
			spans[i] = spans[i-1]
			continue
		}
		text := src[min(one.from, one.to, len(src)):min(one.to, len(src))]
		f.script.within = appendLoose(f.script.within, text)
		if strings.Contains(text, "$'") {
			f.script.within = appendLoose(f.script.within, wordsWithin(file, one))
		}
	}
}

// wordsWithin are the words in a part of a script with their quoting removed.
func wordsWithin(file *syntax.File, part span) string {
	var texts []string
	syntax.Walk(file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && part.holds(spanOf(w)) {
			texts = append(texts, wordOf(w).text)
		}
		return true
	})
	return strings.Join(texts, " ")
}
