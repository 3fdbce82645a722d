package shell

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walk reads the statements of a script in their order: all branches, the body of a loop for each word that the loop
// names, and variables that the script sets to plain words. What it does not understand makes a script not simple: its
// commands are found too, and people are asked.
type walk struct {
	in      *finder
	file    *syntax.File
	src     string
	depth   int
	plain   bool // the script is commands of plain words: see [parsePlain]
	follows bool // variables have values and loops repeat, which holds only if all of the script is simple; failed: it is not
	failed  bool
	exceeds bool // it has more commands than are compared

	repeats int      // above 0: in the body of a loop that was read before
	size    int      // bytes of the script, and of its commands that repeat
	sets    bool     // the script sets a variable
	looked  []string // names of variables that were needed
	leaves  bool     // the last statement is left out

	noted   *survey
	literal []*syntax.CmdSubst            // those that are literal text
	outputs map[syntax.Node]*substitution // of $(...) and <(...)
	spans   []span                        // in which a command may be named
}

// substitution has the commands of $(...) or <(...).
type substitution struct {
	why   string         // it is not simple, or ""
	stmts []*syntax.Stmt // without those that are left out
}

// around is what the walk knows of the place of a statement.
type around struct {
	piped  bool   // it reads what another command writes
	fed    bool   // it reads a redirection
	feeds  bool   // other commands have what it writes as words
	input  []span // the texts that it reads
	known  scope
	always bool // it runs exactly once, in this shell
	// alone is set for a statement of a list, which may be left out if it does nothing but change this shell.
	alone bool
}

// inside is the place of statements in a list that is a part of a statement.
func (a around) inside() around {
	a.known, a.always, a.alone = a.known.clone(), false, true
	return a
}

// part is the place of a statement that is a part of another one, and no list.
func (a around) part() around {
	a.always, a.alone = false, false
	return a
}

// read reads the script.
func (w *walk) read() *Script {
	s := &Script{texts: make([]string, 0, 8)}
	if !w.plain {
		s.Problem = scriptProblem(w.src)
	}
	w.in.script, w.follows = s, w.follows && s.Problem == ""
	why := w.script()
	if w.exceeds {
		s.Problem = "The command runs more commands than heldcall compares."
	}
	s.Compound = cmp.Or(s.Problem, s.Compound)
	if s.NotSimple = cmp.Or(s.Problem, why); !w.follows {
		s.NotSimple = s.Compound
	}
	s.NotPlain = cmp.Or(s.Compound, s.NotPlain)
	return s
}

// script reads all statements. It returns why the script is not simple, or "".
func (w *walk) script() string {
	s := w.in.script
	if len(w.file.Stmts) == 0 {
		return w.refuse(noCommand)
	}
	w.size = len(w.src)
	comments := w.comments()
	in := around{always: true, alone: true}
	if !w.plain {
		in.known = scope{}
	}
	why := cmp.Or(w.list(w.file.Stmts, in), comments)
	why = cmp.Or(why, w.some(0))
	if s.opens || (s.writes && slices.ContainsFunc(s.Commands, (*Command).runsFile)) {
		w.spans = append(w.spans, span{0, len(w.src)})
	}
	w.looksInto()
	return why
}

// compound notes the first reason why the script is more than a list of commands of plain words.
func (w *walk) compound(why string) {
	s := w.in.script
	s.Compound = cmp.Or(s.Compound, why)
}

// refuse is compound for what makes the script not simple too.
func (w *walk) refuse(why string) string {
	w.compound(why)
	return why
}

// comments returns why a comment makes the script not simple, or "": it is not alone on its line, or a shell without
// comments, such as an interactive zsh, could find a command in it.
func (w *walk) comments() (why string) {
	if !strings.Contains(w.src, "#") {
		return ""
	}
	const reason = "The script has a comment."
	for _, c := range w.survey().comments {
		w.compound(reason)
		from := int(c.Pos().Offset())
		alone := strings.Trim(w.src[strings.LastIndexByte(w.src[:from], '\n')+1:from], " \t") == ""
		if !alone || strings.ContainsFunc(c.Text, signInComment) {
			why = reason
		}
	}
	return why
}

// signInComment reports whether a character has a meaning for a shell that knows no comments, beside one by which it only
// looks for names of files.
func signInComment(r rune) bool { return strings.ContainsRune("\\\"'`$!&;|<>(){}[]~^", r) }

// list reads statements. It returns why they are not simple, or "".
func (w *walk) list(stmts []*syntax.Stmt, in around) (why string) {
	for _, stmt := range stmts {
		why = cmp.Or(why, w.stmt(stmt, in))
	}
	return why
}

// group is list for the statements in brackets, or of a branch or loop. One of them must do something.
func (w *walk) group(in around, lists ...[]*syntax.Stmt) (why string) {
	before := len(w.in.script.Commands)
	for _, stmts := range lists {
		why = cmp.Or(why, w.list(stmts, in.inside()))
	}
	return cmp.Or(why, w.some(before))
}

const noCommand = "The script has no command."

// some has commands after the first ones count that would be left out, if there are no others. It returns why that is
// not simple, or "".
func (w *walk) some(before int) string {
	w.leaves = false
	all := w.in.script.Commands[before:]
	if len(all) == 0 {
		return w.refuse(noCommand)
	}
	if !slices.ContainsFunc(all, (*Command).acts) {
		for _, c := range all {
			c.Idle = false
		}
	}
	return ""
}

// stmt reads one statement. It returns why that is not simple, or "".
func (w *walk) stmt(n *syntax.Stmt, in around) (why string) {
	if w.leaves = false; w.ends() {
		return ""
	}
	if start, end := int(n.Pos().Offset()), int(n.End().Offset()); w.repeats == 0 && start <= end && end <= len(w.src) {
		w.in.script.texts = append(w.in.script.texts, strings.TrimRight(w.src[start:end], "; \t\n&"))
	}
	if n.Negated || n.Background || n.Coprocess || n.Disown {
		const reason = "The script negates a command or leaves it running."
		w.compound(reason)
		if n.Coprocess || n.Disown {
			why = reason
		}
		in.alone, in.always = false, in.always && !n.Background
	}
	if len(n.Redirs) > 0 {
		in.alone = false
		why = cmp.Or(why, w.redirections(n, &in))
	}
	return cmp.Or(why, w.command(n, in))
}

// ends counts a statement, and reports whether the walk ends before it.
func (w *walk) ends() bool {
	if w.repeats > 0 {
		w.size++
	}
	w.failed = w.failed || (w.follows && w.size > MaxScript)
	w.exceeds = w.exceeds || len(w.in.script.Commands) > maxCommands
	return w.failed || w.exceeds
}

// redirections reads those of a statement.
func (w *walk) redirections(n *syntax.Stmt, in *around) (why string) {
	s := w.in.script
	s.writes = s.writes || writesFile(n)
	for _, r := range n.Redirs {
		to := r
		if r.Word != nil && r.Hdoc == nil {
			if word := w.resolved(r.Word, in.known, false); word != r.Word {
				w.compound(notPlainRedirect)
				to = &syntax.Redirect{OpPos: r.OpPos, Op: r.Op, N: r.N, Word: word}
			}
		}
		if !harmlessRedirect(to) && !plainRedirect(to) && !isPlainDocument(n, to) {
			why = w.refuse(notPlainRedirect)
		}
		w.in.redirect(to, r.Word, w.src)
	}
	if slices.ContainsFunc(n.Redirs, func(r *syntax.Redirect) bool { return givesInput(r) && !harmlessRedirect(r) }) {
		in.fed = true
		s.NotPlain = notPlainRedirect
	}
	for _, r := range n.Redirs {
		w.inside(r, *in)
	}
	in.input = slices.Concat(in.input, inputsOf(n))
	return why
}

// command reads the command of a statement.
func (w *walk) command(n *syntax.Stmt, in around) string {
	if cmd, ok := n.Cmd.(*syntax.CallExpr); ok {
		return w.call(n, cmd, in)
	}
	w.in.script.noteOther(n, w.src)
	switch cmd := n.Cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		return w.binary(cmd, in)
	case *syntax.Subshell:
		return w.group(in, cmd.Stmts)
	case *syntax.Block:
		return w.group(in, cmd.Stmts)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return w.stmt(cmd.Stmt, in.part())
		}
	default:
		w.compound(notSimple)
		return w.construct(cmd, in)
	}
	return w.refuse(notSimple)
}

const notSimple = "The script is more than simple commands."

// construct reads a branch, a loop or another construct of the language.
func (w *walk) construct(cmd syntax.Command, in around) string {
	switch cmd := cmd.(type) {
	case *syntax.IfClause:
		return w.group(in, branches(cmd)...)
	case *syntax.WhileClause:
		w.failed = w.failed || (w.follows && (w.changesFolder(cmd.Cond) || w.changesFolder(cmd.Do)))
		return w.group(in, cmd.Cond, cmd.Do)
	case *syntax.ForClause:
		if w.follows && isList(cmd) {
			return w.loop(cmd, cmd.Loop.(*syntax.WordIter), in)
		}
		w.inside(cmd.Loop, in.part())
		return cmp.Or(w.group(in, cmd.Do), notSimple)
	case *syntax.DeclClause: // export CI=1
		w.inside(cmd, in.part())
		if w.leaves = in.alone && w.follows && w.onlyLook(cmd); w.leaves {
			return ""
		}
		return notSimple
	}
	w.inside(cmd, in.part())
	return notSimple
}

// branches returns the conditions and branches of an if.
func branches(c *syntax.IfClause) (lists [][]*syntax.Stmt) {
	for ; c != nil; c = c.Else {
		lists = append(lists, c.Cond, c.Then)
	}
	return lists
}

// onlyLook reports whether export sets only variables that change how programs show what they do.
func (w *walk) onlyLook(cmd *syntax.DeclClause) bool {
	return cmd.Variant.Value == "export" && len(cmd.Args) > 0 && !slices.ContainsFunc(cmd.Args, func(a *syntax.Assign) bool {
		return a.Naked || !setsOnlyLook(&w.in.table.Variables, a)
	})
}

// binary reads two commands that are joined.
func (w *walk) binary(c *syntax.BinaryCmd, in around) (why string) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		in.alone = true
		why = w.stmt(c.X, in)
		in.always, in.alone = w.leaves && in.always && c.Op == syntax.AndStmt, !w.leaves
		why = cmp.Or(why, w.stmt(c.Y, in))
		w.leaves = false
		return why
	case syntax.Pipe:
	default:
		why = w.refuse("The script joins commands by " + c.Op.String() + ".")
	}
	before := len(w.in.script.Commands)
	left := in.inside()
	left.alone = false
	why = cmp.Or(w.stmt(c.X, left), why)
	from := w.in.script.Commands[before:]
	right := in.inside()
	right.alone, right.piped = false, true
	right.input = append(slices.Clip(right.input), spanOf(c.X))
	before = len(w.in.script.Commands)
	why = cmp.Or(w.stmt(c.Y, right), why)
	w.lists(c, from, w.in.script.Commands[before:], in)
	return why
}

// lists notes that the right side of a pipe shows the files that its left side lists.
func (w *walk) lists(c *syntax.BinaryCmd, from, to []*Command, in around) {
	call, ok := c.Y.Cmd.(*syntax.CallExpr)
	if !ok || slices.ContainsFunc(c.Y.Redirs, givesInput) {
		return
	}
	i := slices.IndexFunc(to, func(shown *Command) bool { return shown.source.stmt == c.Y })
	if i < 0 || len(call.Args) == 0 || !w.showsListed(to[i], c.X, in.known) {
		return
	}
	to[i].data.listed = true
	for _, one := range from {
		one.data.feeds = true
	}
}

// isList reports whether a loop is over words that it names.
func isList(c *syntax.ForClause) bool {
	over, ok := c.Loop.(*syntax.WordIter)
	return ok && !c.Select && !c.Braces && over.InPos.IsValid() && len(over.Items) > 0 && meansNothing(over.Name.Value)
}

// loop reads the body of a loop once for each of its words.
func (w *walk) loop(c *syntax.ForClause, over *syntax.WordIter, in around) (why string) {
	name := over.Name.Value
	w.setsVariable()
	if _, set := in.known[name]; set || w.changesFolder(c.Do) {
		w.failed = true // it has another value afterwards, or the loop begins in another folder the second time
	}
	before := len(w.in.script.Commands)
	values := make([]value, len(over.Items))
	for i, item := range over.Items {
		values[i] = w.value(item, in.known)
		if sub := substitutionOf(item); sub != nil {
			why = cmp.Or(why, w.list(sub.Stmts, in.inside()))
			continue
		}
		w.inside(item, in.part())
	}
	for i, v := range values {
		if i > 0 {
			w.repeats++
		}
		in.known = in.known.clone()
		in.known[name] = v
		looked := len(w.looked)
		why = cmp.Or(why, w.list(c.Do, in.inside()))
		needed := slices.Contains(w.looked[looked:], name)
		if i > 0 {
			w.repeats--
		}
		if w.failed || !needed {
			break
		}
	}
	return cmp.Or(why, w.some(before))
}

// inside reads the statements in a node, such as a word, and notes what else may name a command.
func (w *walk) inside(node syntax.Node, in around) {
	if node == nil {
		return
	}
	s := w.in.script
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			w.stmt(n, in.part())
			return false
		case *syntax.SglQuoted:
			s.opens = s.opens || holdsSubstitution(n.Value)
		case *syntax.Lit:
			s.opens = s.opens || holdsSubstitution(n.Value)
		case *syntax.DblQuoted:
			w.documents(n)
		case *syntax.CmdSubst:
			if !slices.Contains(w.literal, n) {
				s.NotPlain = notPlainWord
				feeding := in
				feeding.feeds = true
				w.output(n, n.Stmts, feeding)
			}
			return false
		case *syntax.ProcSubst:
			w.output(n, n.Stmts, in)
			return false
		case *syntax.Assign:
			w.spans = append(w.spans, spanOf(n))
			s.opens = s.opens || (n.Value != nil && wordOf(n.Value).mayOpen())
		}
		return true
	})
}

// output reads the commands of a substitution.
func (w *walk) output(n syntax.Node, stmts []*syntax.Stmt, in around) {
	found := &substitution{}
	for _, stmt := range stmts {
		found.why = cmp.Or(found.why, w.stmt(stmt, in.inside()))
		if !w.leaves {
			found.stmts = append(found.stmts, stmt)
		}
	}
	if w.outputs == nil {
		w.outputs = map[syntax.Node]*substitution{}
	}
	w.outputs[n], w.leaves = found, false
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

type span struct{ from, to int }

func spanOf(n syntax.Node) span { return span{int(n.Pos().Offset()), int(n.End().Offset())} }

func (a span) in(src string) string { return src[min(a.from, a.to, len(src)):min(a.to, len(src))] }

func (a span) holds(b span) bool { return a.from <= b.from && b.to <= a.to }

// inputsOf returns the texts that the redirections of a statement give its commands.
func inputsOf(stmt *syntax.Stmt) (texts []span) {
	for _, r := range stmt.Redirs {
		switch {
		case r.Hdoc != nil:
			texts = append(texts, spanOf(r.Hdoc))
		case r.Op == syntax.WordHdoc && r.Word != nil:
			texts = append(texts, spanOf(r.Word))
		}
	}
	return texts
}

func writesFile(stmt *syntax.Stmt) bool {
	return slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool {
		return !givesInput(r) && !harmlessRedirect(r)
	})
}

// looksInto notes the parts of a script that are no words of a command and may name one.
func (w *walk) looksInto() {
	s, spans := w.in.script, w.spans
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
		s.mentions = appendLoose(s.mentions, one.in(w.src))
	}
	if !strings.Contains(w.src, "$'") {
		return
	}
	var words []string // with their quoting removed
	for _, one := range w.survey().words {
		at := spanOf(one)
		if slices.ContainsFunc(apart, func(span span) bool { return span.holds(at) }) {
			words = append(words, wordOf(one).Text)
		}
	}
	s.mentions = appendLoose(s.mentions, strings.Join(words, " "))
}
