package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the work. Nested loops multiply the work, but not always the result.
const (
	maxRewrites = 8  // bytes of source that are rewritten, as a multiple of the longest script
	eachRewrite = 64 // bytes that a rewrite counts beside its source
)

// straightLine returns the straight line of a script, or the script if it has none.
func (t *Programs) straightLine(src string) string {
	joined := t.joinLines(src)
	if scriptProblem(joined) != "" {
		return src
	}
	if text, ok := t.straightened(joined); ok {
		return text
	}
	return src
}

// straightened returns the straight line of a script: every command that the script may run, with
// the same words, one after another. An if becomes its conditions and all branches, a loop over words
// that the script names becomes its body for each word, and a variable that the script sets to a plain
// word becomes that word. A command with lists in braces becomes two, since not all shells expand
// them. Parts that it does not understand stay, so the result must be judged like any other script. It
// reports false if there is nothing to change, or if it cannot tell what a variable is.
func (t *Programs) straightened(src string) (string, bool) {
	whole, ok := t.withoutComments(src)
	if !ok {
		return "", false
	}
	file, err := t.parseSource(whole)
	if err != nil {
		return "", false
	}
	s := &straightener{src: whole, programs: t, work: maxRewrites * MaxScript}
	s.documents(file)
	edits := s.list(file.Stmts, scope{}, true)
	result := s.apply(span{0, len(whole)}, edits)
	if s.failed || result == src || (s.sets && changesVariables(file)) {
		return "", false
	}
	return result, true
}

// withoutComments replaces comments by spaces. It fails for one that is not alone on its line, or in which a shell
// without comments, such as an interactive zsh, could find a command.
func (t *Programs) withoutComments(src string) (string, bool) {
	if !strings.Contains(src, "#") {
		return src, true
	}
	file, err := t.parseSource(src)
	if err != nil {
		return "", false
	}
	text, ok := []byte(src), true
	syntax.Walk(file, func(n syntax.Node) bool {
		c, is := n.(*syntax.Comment)
		if !is {
			return true
		}
		from := int(c.Pos().Offset())
		alone := strings.Trim(src[strings.LastIndexByte(src[:from], '\n')+1:from], " \t") == ""
		if !alone || strings.ContainsFunc(c.Text, signInComment) {
			ok = false
			return false
		}
		for i := from; i < from+1+len(c.Text) && i < len(text); i++ {
			text[i] = ' '
		}
		return true
	})
	return string(text), ok
}

// signInComment reports whether a character has a meaning for a shell that knows no comments.
func signInComment(r rune) bool { return strings.ContainsRune("\\\"'`$!&;|<>(){}[]*?~^", r) }

// list returns the edits of a list of statements. always: they run exactly once, and in this shell.
func (s *straightener) list(stmts []*syntax.Stmt, known scope, always bool) []edit {
	var edits []edit
	for i, stmt := range stmts {
		if s.failed {
			return nil
		}
		if s.drops(stmt, known, always) {
			out := spanOf(stmt)
			if i+1 < len(stmts) {
				out.to = int(stmts[i+1].Pos().Offset())
			}
			edits = append(edits, edit{out, ""})
			continue
		}
		edits = append(edits, s.stmt(stmt, known, always)...)
	}
	return edits
}

func (s *straightener) stmt(stmt *syntax.Stmt, known scope, always bool) []edit {
	var edits []edit
	if stmt.Negated {
		edits = append(edits, s.token(stmt.Position, "!", " ")...)
	}
	if stmt.Background {
		edits, always = append(edits, s.token(stmt.Semicolon, "&", ";")...), false
	}
	for _, r := range stmt.Redirs {
		if r.Word != nil && r.Hdoc == nil {
			edits = append(edits, s.word(r.Word, known, false)...)
		}
	}
	return append(edits, s.command(stmt, known, always)...)
}

func (s *straightener) command(stmt *syntax.Stmt, known scope, always bool) []edit {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return s.call(stmt, cmd, known)
	case *syntax.BinaryCmd:
		return s.binary(cmd, known, always)
	case *syntax.Subshell:
		return s.list(cmd.Stmts, known.clone(), false)
	case *syntax.Block:
		return s.list(cmd.Stmts, known.clone(), false)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return s.stmt(cmd.Stmt, known, false)
		}
	case *syntax.IfClause:
		return s.branches(cmd, known)
	case *syntax.WhileClause:
		word := "while"
		if cmd.Until {
			word = "until"
		}
		s.failed = s.failed || changesFolder(cmd.Cond) || changesFolder(cmd.Do)
		edits := slices.Concat(s.token(cmd.WhilePos, word, "{"), s.token(cmd.DoPos, "do", ""), s.token(cmd.DonePos, "done", "}"))
		return slices.Concat(edits, s.list(cmd.Cond, known.clone(), false), s.list(cmd.Do, known.clone(), false))
	case *syntax.ForClause:
		return s.loop(cmd, known)
	}
	return nil
}

// branches keeps the conditions and all branches of an if.
func (s *straightener) branches(c *syntax.IfClause, known scope) []edit {
	edits := slices.Concat(s.token(c.Position, "if", "{"), s.token(c.FiPos, "fi", "}"))
	for ; c != nil; c = c.Else {
		if c.ThenPos.IsValid() {
			edits = append(edits, s.token(c.ThenPos, "then", "")...)
		}
		edits = slices.Concat(edits, s.list(c.Cond, known.clone(), false), s.list(c.Then, known.clone(), false))
		switch next := c.Else; {
		case next == nil:
		case next.ThenPos.IsValid():
			edits = append(edits, s.token(next.Position, "elif", "")...)
		default:
			edits = append(edits, s.token(next.Position, "else", "")...)
		}
	}
	return edits
}

func (s *straightener) binary(c *syntax.BinaryCmd, known scope, always bool) []edit {
	if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
		return append(s.stmt(c.X, known.clone(), false), s.stmt(c.Y, known.clone(), false)...)
	}
	if s.drops(c.X, known, always) {
		out := edit{span{int(c.X.Pos().Offset()), int(c.Y.Pos().Offset())}, ""}
		return append(s.stmt(c.Y, known, always && c.Op == syntax.AndStmt), out)
	}
	edits := s.stmt(c.X, known, always)
	if s.drops(c.Y, known, false) {
		return append(edits, edit{span{int(c.OpPos.Offset()), int(c.Y.End().Offset())}, ""})
	}
	return append(edits, s.stmt(c.Y, known, false)...)
}

// loop unrolls a loop over words.
func (s *straightener) loop(c *syntax.ForClause, known scope) []edit {
	over, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || c.Braces || !over.InPos.IsValid() || len(over.Items) == 0 || !meansNothing(over.Name.Value) {
		return nil
	}
	s.sets = true
	if _, set := known[over.Name.Value]; set || changesFolder(c.Do) {
		s.failed = true // it has another value afterwards, or the loop begins in another folder the second time
	}
	var values []value
	before := "" // commands that make the words
	for _, w := range over.Items {
		values = append(values, s.value(w, known))
		if sub := substitutionOf(w); sub != nil {
			before += "\n" + s.apply(span{int(sub.Left.Offset()) + len("$("), int(sub.Right.Offset())}, s.list(sub.Stmts, known.clone(), false))
		}
	}
	body := span{int(c.DoPos.Offset()) + len("do"), int(c.DonePos.Offset())}
	var all []string
	size := 0
	for _, v := range values {
		inside := known.clone()
		inside[over.Name.Value] = v
		text := s.apply(body, s.list(c.Do, inside, false))
		if size += len(text); s.failed || size > MaxScript {
			s.failed = true
			return nil
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return []edit{{span{int(c.ForPos.Offset()), int(c.DonePos.Offset()) + len("done")}, "{" + before + "\n" + strings.Join(all, "\n") + "\n}"}}
}

// changesFolder reports whether a statement, but for those in brackets, is a cd.
func changesFolder(stmts []*syntax.Stmt) bool {
	found := false
	for _, stmt := range stmts {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
				return false
			case *syntax.Word:
				found = found || wordOf(n).Text == "cd"
			}
			return !found
		})
	}
	return found
}

// drops reports whether a statement runs no program and changes this shell in a known way only, so that it can be left
// out. A statement that sets variables must always run; drops records their values.
func (s *straightener) drops(stmt *syntax.Stmt, known scope, always bool) bool {
	if stmt.Negated || stmt.Background || stmt.Coprocess || stmt.Disown || len(stmt.Redirs) > 0 {
		return false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 {
			return always && s.assigns(cmd.Assigns, known)
		}
		return len(cmd.Assigns) == 0 && runsNothing(cmd.Args)
	case *syntax.DeclClause: // export CI=1
		return cmd.Variant.Value == "export" && len(cmd.Args) > 0 && !slices.ContainsFunc(cmd.Args, func(a *syntax.Assign) bool { return a.Naked || !setsOnlyLook(&s.programs.Variables, a) })
	}
	return false
}

// idle are the builtins that only end a script or loop, wait, or decide what the shell does at errors, if their words are
// of that kind.
var idle = map[string]func([]*syntax.Word) bool{
	"set": setsErrors, "exit": mayBeNumber, "break": mayBeNumber, "continue": mayBeNumber,
	"wait": func(words []*syntax.Word) bool { return len(words) == 0 },
}

// StraightLeavesOut reports whether [Programs.Straight] may leave out a command of a program.
func StraightLeavesOut(program string) bool { return idle[program] != nil }

// runsNothing reports whether a command is one of the builtins that are idle.
func runsNothing(args []*syntax.Word) bool {
	is := idle[args[0].Lit()]
	return is != nil && is(args[1:])
}

// setsErrors reports whether the words after set only decide what the shell does at errors, or have it print its commands.
func setsErrors(words []*syntax.Word) bool {
	if len(words) == 0 {
		return false
	}
	for i := 0; i < len(words); i++ {
		word := words[i].Lit()
		if len(word) < 2 || (word[0] != '-' && word[0] != '+') || strings.Trim(word[1:], "euxo") != "" {
			return false
		}
		for range strings.Count(word, "o") {
			if i++; i == len(words) || !slices.Contains([]string{"errexit", "nounset", "pipefail", "xtrace"}, words[i].Lit()) {
				return false
			}
		}
	}
	return true
}

// mayBeNumber reports whether words are none, or a number.
func mayBeNumber(words []*syntax.Word) bool {
	return len(words) == 0 || (len(words) == 1 && isNumber(words[0]))
}

// isNumber reports whether a word is a number, or the status of the last command.
func isNumber(w *syntax.Word) bool {
	if text := w.Lit(); text != "" {
		return strings.Trim(text, "0123456789") == ""
	}
	p, ok := w.Parts[0].(*syntax.ParamExp)
	return ok && len(w.Parts) == 1 && plainName(p) == "?"
}

// variableChangers are builtins that may set a variable, or run a text that sets one.
var variableChangers = []string{
	"read", "mapfile", "readarray", "eval", "source", ".", "unset", "trap", "alias", "getopts", "let", "local", "declare", "typeset", "readonly", "export", "shift", "set", "exec", "enable", "builtin", "command", "vared", "zparseopts", "integer", "float",
}

// changesVariables reports whether a script has a command that may change a variable.
func changesVariables(file *syntax.File) bool {
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return !found
		}
		program := wordOf(call.Args[0])
		switch {
		case !program.certain(), slices.Contains(variableChangers, program.Text) && !runsNothing(call.Args):
			found = true
		case program.Text == "printf" && len(call.Args) > 1: // printf -v NAME
			format := wordOf(call.Args[1])
			found = found || !format.certain() || strings.HasPrefix(format.Text, "-")
		}
		return !found
	})
	return found
}
