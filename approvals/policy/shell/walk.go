package shell

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walk finds the simple commands, the source of each statement, and other texts that may name a
// command.
func (f *finder) walk(file *syntax.File, src string, depth int) {
	w := walk{in: f, src: src, depth: depth}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.SglQuoted, *syntax.Lit, *syntax.DblQuoted, *syntax.CmdSubst:
			return w.wordPart(n)
		case *syntax.Assign:
			w.spans = append(w.spans, spanOf(n))
			f.script.opens = f.script.opens || (n.Value != nil && wordOf(n.Value).mayOpen())
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				w.piped = append(w.piped, n.Y)
				w.inputs = append(w.inputs, input{of: commandSpan(n.Y), text: spanOf(n.X)})
				w.listed = append(w.listed, n)
			}
		case *syntax.Stmt:
			w.stmt(n)
		}
		return true
	})
	if f.script.opens || (f.script.writes && slices.ContainsFunc(f.script.Commands, (*Command).runsFile)) {
		w.spans = append(w.spans, span{0, len(src)})
	}
	f.looksInto(file, src, w.spans)
}

// walk is the state of a walk through the statements of a script.
type walk struct {
	in      *finder
	src     string
	depth   int
	piped   []*syntax.Stmt      // the reading ends of pipes
	fed     []*syntax.Stmt      // those with a redirection of input
	literal []*syntax.CmdSubst  // those that are literal text
	outputs []span              // of substitutions
	listed  []*syntax.BinaryCmd // pipes
	inputs  []input
	spans   []span // in which a command may be named
}

// wordPart records a part of a word, and reports whether the walk enters it.
func (w *walk) wordPart(part syntax.Node) bool {
	s := w.in.script
	switch n := part.(type) {
	case *syntax.SglQuoted:
		s.opens = s.opens || holdsSubstitution(n.Value)
	case *syntax.Lit:
		s.opens = s.opens || holdsSubstitution(n.Value)
	case *syntax.DblQuoted:
		w.documents(n)
	case *syntax.CmdSubst:
		if slices.Contains(w.literal, n) {
			return false
		}
		w.outputs = append(w.outputs, spanOf(n))
		s.NotPlain = notPlainWord
	}
	return true
}

// documents notes the substitutions in double quotes that only write a literal here-document.
func (w *walk) documents(n *syntax.DblQuoted) {
	for _, part := range n.Parts {
		if _, ok := documentWord(part); ok {
			w.literal = append(w.literal, part.(*syntax.CmdSubst))
			w.in.script.NotPlain = notPlainDocument
		}
	}
}

func (w *walk) stmt(n *syntax.Stmt) {
	s := w.in.script
	start, end := int(n.Pos().Offset()), int(n.End().Offset())
	if start <= end && end <= len(w.src) {
		s.texts = append(s.texts, strings.TrimRight(w.src[start:end], "; \t\n&"))
	}
	if len(n.Redirs) > 0 {
		w.redirections(n)
	}
	var words []word
	call, ok := n.Cmd.(*syntax.CallExpr)
	if ok {
		words = callWords(call)
	}
	if len(words) == 0 {
		s.noteOther(n, w.src)
		return
	}
	within := func(s *syntax.Stmt) bool { return partOf(n, s) }
	c := w.in.command(words, slices.ContainsFunc(w.piped, within), w.depth)
	if slices.ContainsFunc(w.fed, within) {
		c.isFed()
	}
	w.lists(c, n)
	c.source = commandSource{stmt: n, script: w.src, expands: expands(call, w.src)}
	if sets := searchPaths(&w.in.table.Variables, call); len(sets) > 0 {
		c.setsAll(sets)
		s.NotPlain = notPlainSet
	}
	w.in.fed(c, n.Redirs, w.depth)
	s.Commands = append(s.Commands, c)
	if len(w.inputs) > 0 && c.executes() {
		at := commandSpan(n)
		for i := range w.inputs {
			if in := &w.inputs[i]; !in.used && in.of.holds(at) {
				in.used = true
				w.spans = append(w.spans, in.text)
			}
		}
	}
}

// redirections notes those of a statement.
func (w *walk) redirections(n *syntax.Stmt) {
	s := w.in.script
	w.inputs = append(w.inputs, inputsOf(n)...)
	s.writes = s.writes || writesFile(n)
	for _, r := range n.Redirs {
		w.in.redirect(r, w.src)
	}
	if slices.ContainsFunc(n.Redirs, func(r *syntax.Redirect) bool { return givesInput(r) && !harmlessRedirect(r) }) {
		w.fed = append(w.fed, n)
		s.NotPlain = notPlainRedirect
	}
}

// lists notes whether a command lists files for others, or shows those that others list.
func (w *walk) lists(c *Command, n *syntax.Stmt) {
	at := commandSpan(n)
	c.data.feeds = slices.ContainsFunc(w.outputs, func(one span) bool { return one.holds(at) })
	i := slices.IndexFunc(w.listed, func(pipe *syntax.BinaryCmd) bool { return pipe.Y == n })
	if i < 0 || slices.ContainsFunc(n.Redirs, givesInput) || !w.in.showsListed(c, w.listed[i].X) {
		return
	}
	c.data.listed = true
	from := spanOf(w.listed[i].X)
	for _, one := range w.in.script.Commands {
		one.data.feeds = one.data.feeds || (one.source.stmt != nil && one.source.script == w.src && from.holds(commandSpan(one.source.stmt)))
	}
}

// isFed notes that a command, and those that it runs, read a redirection.
func (c *Command) isFed() {
	c.data.fed = true
	for _, one := range slices.Concat(c.inner, c.same) {
		one.isFed()
	}
}

func partOf(n, in *syntax.Stmt) bool { return !in.Pos().After(n.Pos()) && !n.End().After(in.End()) }

type span struct{ from, to int }

func spanOf(n syntax.Node) span { return span{int(n.Pos().Offset()), int(n.End().Offset())} }

// commandSpan returns the span of a statement without redirections, as here-documents may follow
// later.
func commandSpan(stmt *syntax.Stmt) span {
	if stmt.Cmd == nil {
		return spanOf(stmt)
	}
	return spanOf(stmt.Cmd)
}

func (a span) in(src string) string { return src[min(a.from, a.to, len(src)):min(a.to, len(src))] }

func (a span) holds(b span) bool { return a.from <= b.from && b.to <= a.to }

// input is the input of a statement's commands: a here-document, or the writing end of a pipe.
type input struct {
	of   span // the statement, without its redirections
	text span
	used bool // by a command that may run it
}

func inputsOf(stmt *syntax.Stmt) []input {
	var found []input
	for _, r := range stmt.Redirs {
		switch {
		case r.Hdoc != nil:
			found = append(found, input{of: commandSpan(stmt), text: spanOf(r.Hdoc)})
		case r.Op == syntax.WordHdoc && r.Word != nil:
			found = append(found, input{of: commandSpan(stmt), text: spanOf(r.Word)})
		}
	}
	return found
}

func writesFile(stmt *syntax.Stmt) bool {
	return slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool {
		return !givesInput(r) && !harmlessRedirect(r)
	})
}

// looksInto notes the parts of a script that are no words of a command and may name one.
func (f *finder) looksInto(file *syntax.File, src string, spans []span) {
	if len(spans) == 0 {
		return
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	apart := spans[:1]
	for _, one := range spans[1:] {
		if !apart[len(apart)-1].holds(one) {
			apart = append(apart, one)
		}
	}
	for _, one := range apart {
		f.script.mentions = appendLoose(f.script.mentions, one.in(src))
	}
	if !strings.Contains(src, "$'") {
		return
	}
	var words []string // with their quoting removed
	syntax.Walk(file, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		at := spanOf(w)
		if slices.ContainsFunc(apart, func(one span) bool { return one.holds(at) }) {
			words = append(words, wordOf(w).Text)
		}
		return true
	})
	f.script.mentions = appendLoose(f.script.mentions, strings.Join(words, " "))
}
