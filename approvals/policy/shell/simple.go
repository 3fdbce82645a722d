package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
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
	switch {
	case len(stmt.Comments) > 0:
		return "The script has a comment."
	case stmt.Negated, stmt.Background, stmt.Coprocess, stmt.Disown:
		return "The script negates a command or leaves it running."
	}
	for _, r := range stmt.Redirs {
		if !harmlessRedirect(r) && !plainRedirect(r) {
			return notPlainRedirect
		}
	}
	switch cmd := stmt.Cmd.(type) {
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
		return "The script sets a variable."
	}
	for _, a := range call.Assigns {
		if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil || !t.SetsOnlyLook(a.Name.Value) {
			return "The script sets a variable."
		}
		if a.Value != nil {
			if one := wordOf(a.Value); one.why != "" || !one.certain() || strings.Contains(one.text, "/") {
				return "The script sets a variable."
			}
		}
	}
	program := wordOf(call.Args[0]).text
	for _, w := range call.Args {
		switch one := wordOf(w); {
		case one.why != "":
			return one.why
		case one.sign && !t.TakesScript(program):
			return quotesSign
		}
	}
	return ""
}
