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
	text string       // the value: a plain word
	word *syntax.Word // a word that a shell expands to several values
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

// setsVariable notes that the script sets a variable. The walk fails if it has a command that may change one.
func (w *walk) setsVariable() {
	w.failed = w.failed || (!w.sets && w.survey().changesVariable)
	w.sets = true
}

// assigns reports whether all assignments set variables to plain words, and records their values.
func (w *walk) assigns(all []*syntax.Assign, known scope) bool {
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
	w.setsVariable()
	return true
}

// value reads a word in the list of a loop.
func (w *walk) value(item *syntax.Word, known scope) value {
	read := wordOf(item)
	switch {
	case isPlainValue(read):
		return value{text: read.Text}
	case (read.Why == "" || read.Leading) && read.Wild && len(item.Parts) == 1, substitutionOf(item) != nil:
		return value{word: w.resolved(item, known, false)}
	case !isLiteral(item.Parts):
		w.failed = true
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

// resolved returns a word with the values of its variables, or the word if it has none. shown: the command only prints
// the word.
func (w *walk) resolved(arg *syntax.Word, known scope, shown bool) *syntax.Word {
	if !w.follows || len(known) == 0 {
		return arg
	}
	if name := wholeVariable(arg); known[name].word != nil && !shown {
		w.looked = append(w.looked, name)
		return known[name].word
	}
	return withVariables(arg, func(p *syntax.ParamExp) string {
		name := plainName(p)
		v, set := known[name]
		if set && (v.text != "" || !shown) {
			w.looked = append(w.looked, name)
		}
		w.failed = w.failed || (v.text != "" && w.joins(p, v.text))
		return v.text
	})
}

// withoutShown returns a word that a command prints without the variables that may be shown.
func (w *walk) withoutShown(arg *syntax.Word, known scope) *syntax.Word {
	return withVariables(arg, func(p *syntax.ParamExp) string {
		name := plainName(p)
		if _, set := known[name]; set || slices.Contains(shownVariables, name) {
			return "0"
		}
		return ""
	})
}

// withVariables returns a word with texts, if not empty, in place of variables.
func withVariables(arg *syntax.Word, textOf func(*syntax.ParamExp) string) *syntax.Word {
	parts := replaceVariables(arg.Parts, textOf)
	if parts == nil {
		return arg
	}
	return &syntax.Word{Parts: parts}
}

// replaceVariables is [withVariables] for the parts of a word. It returns nil if they stay as they are.
func replaceVariables(parts []syntax.WordPart, textOf func(*syntax.ParamExp) string) (replaced []syntax.WordPart) {
	for i, part := range parts {
		by := part
		switch part := part.(type) {
		case *syntax.ParamExp:
			if text := textOf(part); text != "" {
				by = &syntax.Lit{Value: text}
			}
		case *syntax.DblQuoted:
			if part.Dollar {
				break
			}
			if inner := replaceVariables(part.Parts, textOf); inner != nil {
				by = &syntax.DblQuoted{Parts: inner}
			}
		}
		if by != part && replaced == nil {
			replaced = slices.Clone(parts[:i])
		}
		if replaced != nil {
			replaced = append(replaced, by)
		}
	}
	return joinLiterals(replaced)
}

// joinLiterals makes one of literal texts that follow each other.
func joinLiterals(parts []syntax.WordPart) (joined []syntax.WordPart) {
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if n := len(joined); ok && n > 0 {
			if before, follows := joined[n-1].(*syntax.Lit); follows {
				joined[n-1] = &syntax.Lit{Value: before.Value + lit.Value}
				continue
			}
		}
		joined = append(joined, part)
	}
	return joined
}

// joins reports whether what follows a variable may be a part of it, in zsh "$f[1]", "$f:h" and "$fé", or makes its
// value the number of a redirection.
func (w *walk) joins(p *syntax.ParamExp, text string) bool {
	rest := w.src[p.End().Offset():]
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

// variableChangers are builtins that may set a variable, or run a text that sets one.
var variableChangers = []string{
	"read", "mapfile", "readarray", "eval", "source", ".", "unset", "trap", "alias", "getopts", "let", "local", "declare", "typeset", "readonly", "export", "shift", "set", "exec", "enable", "builtin", "command", "vared", "zparseopts", "integer", "float",
}

// changesVariable reports whether a command may change a variable.
func changesVariable(call *syntax.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	program := wordOf(call.Args[0])
	switch {
	case !program.certain(), slices.Contains(variableChangers, program.Text) && !runsNothing(call.Args):
		return true
	case program.Text == "printf" && len(call.Args) > 1: // printf -v NAME
		format := wordOf(call.Args[1])
		return !format.certain() || strings.HasPrefix(format.Text, "-")
	}
	return false
}
