package shell

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// scope has the known values of variables, by name.
type scope map[string]value

// value is a variable as far as it is known. One of the fields is set, or none.
type value struct {
	text  string // the value: a plain word
	words string // source of a word that a shell expands to several values
}

func (s scope) clone() scope { return maps.Clone(s) }

// meansNothing reports whether a variable has no meaning for shells and programs. Most names may have one: path is
// special in zsh, and programs read others from the environment.
func meansNothing(name string) bool {
	return (len(name) == 1 && name != "_") || slices.Contains(variableNames, name)
}

// variableNames are names that agents give to files, numbers and the like.
var variableNames = []string{
	"file", "dir", "folder", "name", "pkg", "mod", "module", "svc", "service", "item", "line", "word", "num", "idx", "ext", "branch", "commit", "sha", "tag", "app", "crate", "page", "test", "spec", "pat", "pattern", "term", "key", "lib", "doc",
}

// assigns reports whether all assignments set variables to plain words, and records their values.
func (s *straightener) assigns(all []*syntax.Assign, known scope) bool {
	set := scope{}
	for _, a := range all {
		if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil || a.Value == nil || !meansNothing(a.Name.Value) {
			return false
		}
		read := wordOf(a.Value)
		if _, twice := known[a.Name.Value]; twice || !isPlainValue(read) {
			return false
		}
		set[a.Name.Value] = value{text: read.Text}
	}
	maps.Copy(known, set)
	s.sets = true
	return true
}

// value reads a word in the list of a loop.
func (s *straightener) value(w *syntax.Word, known scope) value {
	read := wordOf(w)
	switch {
	case isPlainValue(read):
		return value{text: read.Text}
	case (read.Why == "" || read.Leading) && read.Wild && len(w.Parts) == 1, substitutionOf(w) != nil:
		return value{words: s.apply(spanOf(w), s.word(w, known, false))}
	case !isLiteral(w.Parts):
		s.failed = true
	}
	return value{}
}

// isLiteral reports whether a word runs no command and contains no variable. It may contain braces, or a ~.
func isLiteral(parts []syntax.WordPart) bool {
	return !slices.ContainsFunc(parts, func(part syntax.WordPart) bool {
		switch part := part.(type) {
		case *syntax.Lit:
			return strings.ContainsAny(part.Value, "$`")
		case *syntax.SglQuoted:
			return part.Dollar
		case *syntax.DblQuoted:
			return part.Dollar || !isLiteral(part.Parts)
		}
		return true
	})
}

// isPlainValue reports whether a word is a text that is the same with and without quotes.
func isPlainValue(w word) bool {
	return w.Why == "" && w.certain() && !w.Wild && w.Text != "" && strings.IndexByte("~=%", w.Text[0]) < 0 && isPlain(w.Text, true)
}

// call replaces variables in the words of a command, and puts the commands of <(...) before it.
func (s *straightener) call(stmt *syntax.Stmt, call *syntax.CallExpr, known scope) []edit {
	if len(call.Args) == 0 {
		return nil
	}
	var edits []edit
	program := call.Args[0].Lit()
	before := ""
	for i, w := range call.Args[1:] {
		if text, ok := s.outputAsFile(program, w, known); ok {
			before += text + "\n"
			edits = append(edits, edit{spanOf(w), "-"})
			continue
		}
		edits = append(edits, s.word(w, known, program == "echo" || (program == "printf" && i > 0))...)
	}
	if before == "" {
		return s.readings(stmt, call, edits)
	}
	if !stmt.Negated && !stmt.Background {
		at := int(stmt.Pos().Offset())
		end := int(stmt.End().Offset())
		if stmt.Semicolon.IsValid() {
			end = int(stmt.Semicolon.Offset())
		}
		edits = append(edits, edit{span{at, at}, "{ " + before}, edit{span{end, end}, "\n}"})
	}
	return edits
}

// filesOnly are programs whose operands are files, or - for standard input.
var filesOnly = []string{"cat", "comm", "diff", "head", "paste", "sort", "tail", "wc"}

// outputAsFile returns the commands of a word <(...), if the program reads its operands as files.
func (s *straightener) outputAsFile(program string, w *syntax.Word, known scope) (string, bool) {
	if len(w.Parts) != 1 || !slices.Contains(filesOnly, program) {
		return "", false
	}
	p, ok := w.Parts[0].(*syntax.ProcSubst)
	if !ok || p.Op != syntax.CmdIn || len(p.Stmts) == 0 || len(p.Last) > 0 {
		return "", false
	}
	return s.apply(span{int(p.OpPos.Offset()) + len("<("), int(p.Rparen.Offset())}, s.list(p.Stmts, known.clone(), false)), true
}

// word replaces the variables of a word. shown: the command only prints the word.
func (s *straightener) word(w *syntax.Word, known scope, shown bool) []edit {
	if v, ok := known[wholeVariable(w)]; ok && v.words != "" && !shown {
		return []edit{{spanOf(w), v.words}}
	}
	return s.wordParts(w.Parts, known, shown)
}

func (s *straightener) wordParts(parts []syntax.WordPart, known scope, shown bool) []edit {
	var edits []edit
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.ParamExp:
			edits = append(edits, s.variable(part, known, shown)...)
		case *syntax.DblQuoted:
			if !part.Dollar {
				edits = append(edits, s.wordParts(part.Parts, known, shown)...)
			}
		case *syntax.CmdSubst:
			if !part.Backquotes {
				edits = append(edits, s.list(part.Stmts, known.clone(), false)...)
			}
		}
	}
	return edits
}

// variable replaces a variable by its value, or by 0 if it is only printed.
func (s *straightener) variable(p *syntax.ParamExp, known scope, shown bool) []edit {
	name := plainName(p)
	v, set := known[name]
	switch {
	case v.text != "":
		s.failed = s.failed || s.joins(p, v.text)
		return []edit{{spanOf(p), v.text}}
	case shown && (set || slices.Contains(shownVariables, name)):
		return []edit{{spanOf(p), "0"}}
	}
	return nil
}

// joins reports whether what follows a variable may be a part of it, in zsh "$f[1]", "$f:h" and "$fé", or makes its
// value the number of a redirection.
func (s *straightener) joins(p *syntax.ParamExp, text string) bool {
	rest := s.src[p.End().Offset():]
	switch {
	case rest == "":
		return false
	case rest[0] == '<' || rest[0] == '>':
		return strings.Trim(text, "0123456789") == ""
	case !p.Short:
		return false
	}
	modifier := len(rest) > 1 && rest[0] == ':' && (isLetter(rest[1]) || rest[1] == '&')
	return modifier || rest[0] == '[' || rest[0] >= utf8.RuneSelf
}

// shownVariables are variables whose values are no secrets.
var shownVariables = []string{"?", "#", "$", "!", "PWD", "OLDPWD", "HOME", "PATH", "USER", "SHELL", "RANDOM", "SECONDS", "LINENO", "PIPESTATUS"}

// plainName returns the name of a variable that is expanded without an operation, else "".
func plainName(p *syntax.ParamExp) string {
	end := int(p.Param.End().Offset())
	if !p.Short {
		end++ // }
	}
	if p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil || int(p.End().Offset()) != end {
		return ""
	}
	return p.Param.Value
}

// wholeVariable returns the name of the variable of a word like "$x", else "".
func wholeVariable(w *syntax.Word) string {
	if len(w.Parts) != 1 {
		return ""
	}
	q, ok := w.Parts[0].(*syntax.DblQuoted)
	if !ok || q.Dollar || len(q.Parts) != 1 {
		return ""
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	if !ok {
		return ""
	}
	return plainName(p)
}

// substitutionOf returns the substitution of a word like $(command), else nil.
func substitutionOf(w *syntax.Word) *syntax.CmdSubst {
	if len(w.Parts) != 1 {
		return nil
	}
	sub, ok := w.Parts[0].(*syntax.CmdSubst)
	if !ok || sub.Backquotes || sub.TempFile || sub.ReplyVar {
		return nil
	}
	return sub
}
