package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// whyNotSimple returns why a script is more than commands of plain words joined by &&, ||, ;, | or
// new lines, in brackets or not, or "".
func (t *Programs) whyNotSimple(file *syntax.File) string {
	if len(file.Stmts) == 0 {
		return "The script has no command."
	}
	return t.whyListNotSimple(file.Stmts, file.Last)
}

func (t *Programs) whyListNotSimple(stmts []*syntax.Stmt, last []syntax.Comment) string {
	if len(last) > 0 {
		return "The script has a comment."
	}
	for _, stmt := range stmts {
		if why := t.whyStmtNotSimple(stmt); why != "" {
			return why
		}
	}
	return ""
}

func (t *Programs) whyStmtNotSimple(stmt *syntax.Stmt) string {
	unknownRedirect := func(r *syntax.Redirect) bool {
		return !harmlessRedirect(r) && !plainRedirect(r) && !isPlainDocument(stmt, r)
	}
	switch {
	case len(stmt.Comments) > 0:
		return "The script has a comment."
	case stmt.Negated, stmt.Background, stmt.Coprocess, stmt.Disown:
		return "The script negates a command or leaves it running."
	case slices.ContainsFunc(stmt.Redirs, unknownRedirect):
		return notPlainRedirect
	}
	return t.whyCommandNotSimple(stmt.Cmd)
}

func (t *Programs) whyCommandNotSimple(cmd syntax.Command) string {
	switch cmd := cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt && cmd.Op != syntax.Pipe {
			return "The script joins commands by " + cmd.Op.String() + "."
		}
		if why := t.whyStmtNotSimple(cmd.X); why != "" {
			return why
		}
		return t.whyStmtNotSimple(cmd.Y)
	case *syntax.Subshell:
		return t.whyListNotSimple(cmd.Stmts, cmd.Last)
	case *syntax.Block:
		return t.whyListNotSimple(cmd.Stmts, cmd.Last)
	case *syntax.TimeClause:
		if cmd.Stmt == nil {
			return "The script is more than simple commands."
		}
		return t.whyStmtNotSimple(cmd.Stmt)
	case *syntax.CallExpr:
		return t.whyCallNotSimple(cmd)
	default:
		return "The script is more than simple commands."
	}
}

func (t *Programs) whyCallNotSimple(call *syntax.CallExpr) string {
	if len(call.Args) == 0 {
		return notPlainSet
	}
	if slices.ContainsFunc(call.Assigns, func(a *syntax.Assign) bool { return !setsOnlyLook(&t.Variables, a) && !setsSearchPath(&t.Variables, a) }) {
		return notPlainSet
	}
	program := wordOf(call.Args[0]).Text
	for _, w := range call.Args {
		switch one := wordOf(w); {
		case one.Why != "" && !t.substitutes(program, w):
			return one.Why
		case one.Sign && !t.TakesScript(program):
			return quotesSign
		}
	}
	return ""
}

const notPlainSet = "The script sets a variable."

// searchPaths returns the values of the variables in front of a command that name folders of code.
func searchPaths(known *programs.Variables, call *syntax.CallExpr) []string {
	var found []string
	for _, a := range call.Assigns {
		if setsSearchPath(known, a) {
			found = append(found, strings.Split(wordOf(a.Value).Text, ":")...)
		}
	}
	return found
}

// setsSearchPath reports whether an assignment is of known folders from which a program loads code.
func setsSearchPath(known *programs.Variables, a *syntax.Assign) bool {
	if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil || a.Value == nil || !known.SearchPath(a.Name.Value) {
		return false
	}
	one := wordOf(a.Value)
	return one.Why == "" && one.certain() && one.Text != ""
}

// setsOnlyLook reports whether an assignment changes only how programs show what they do.
func setsOnlyLook(known *programs.Variables, a *syntax.Assign) bool {
	if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil || !known.OnlyLook(a.Name.Value) {
		return false
	}
	if a.Value == nil {
		return true
	}
	one := wordOf(a.Value)
	return one.Why == "" && one.certain() && !strings.Contains(one.Text, "/")
}
