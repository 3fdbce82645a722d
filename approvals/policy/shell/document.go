package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// literalDocument returns the text of a here-document in which a shell expands nothing: its
// delimiter is quoted, or it has nothing to expand.
func literalDocument(r *syntax.Redirect) (string, bool) {
	if r.Hdoc == nil || r.N != nil || r.Op != syntax.Hdoc || r.Word == nil || len(r.Word.Parts) != 1 {
		return "", false
	}
	delimiter, expands := quotedText(r.Word.Parts[0]), false
	if lit, ok := r.Word.Parts[0].(*syntax.Lit); ok {
		delimiter, expands = lit.Value, true
	}
	if delimiter == "" || strings.Trim(strings.ToLower(delimiter), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "", false
	}
	var text strings.Builder
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || (expands && strings.ContainsAny(lit.Value, "$`\\")) {
			return "", false
		}
		text.WriteString(lit.Value)
	}
	return text.String(), true
}

// inputText returns the text that redirections give a command to read, if the script has it, else "". Of several inputs shells
// read the last, or all.
func inputText(redirs []*syntax.Redirect) (text string) {
	inputs := 0
	for _, r := range redirs {
		if !redirectsInput(r) {
			continue
		}
		inputs++
		if document, ok := literalDocument(r); ok {
			text = document
		}
		if r.Op == syntax.WordHdoc && r.N == nil && r.Word != nil {
			if word := wordOf(r.Word); word.certain() {
				text = word.Text
			}
		}
	}
	if inputs != 1 {
		return ""
	}
	return text
}

// redirectsInput reports whether a redirection is of what a command reads.
func redirectsInput(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return true
	}
	return false
}

// quotedText returns the text of a quoted part of a word in which a shell expands nothing, or "".
func quotedText(part syntax.WordPart) string {
	switch part := part.(type) {
	case *syntax.SglQuoted:
		if !part.Dollar {
			return part.Value
		}
	case *syntax.DblQuoted:
		if !part.Dollar && len(part.Parts) == 1 {
			if lit, ok := part.Parts[0].(*syntax.Lit); ok {
				return lit.Value
			}
		}
	}
	return ""
}

// isPlainDocument reports whether a redirection of a statement is a literal here-document for one
// command.
func isPlainDocument(stmt *syntax.Stmt, r *syntax.Redirect) bool {
	_, literal := literalDocument(r)
	_, single := stmt.Cmd.(*syntax.CallExpr)
	return literal && single
}

// documentWord returns the text of $(cat <<'EOF' ...) in double quotes.
func documentWord(part syntax.WordPart) (string, bool) {
	sub, ok := part.(*syntax.CmdSubst)
	if !ok || sub.Backquotes || sub.TempFile || sub.ReplyVar || len(sub.Stmts) != 1 || len(sub.Last) > 0 {
		return "", false
	}
	stmt := sub.Stmts[0]
	if !isCat(stmt) || len(stmt.Redirs) != 1 {
		return "", false
	}
	text, ok := literalDocument(stmt.Redirs[0])
	if !ok || !sameEnd(text) {
		return "", false
	}
	return strings.TrimRight(text, "\n"), true
}

// isCat reports whether a statement is the command cat alone.
func isCat(stmt *syntax.Stmt) bool {
	if len(stmt.Comments) > 0 || stmt.Negated || stmt.Background || stmt.Coprocess || stmt.Disown {
		return false
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) == 1 && call.Args[0].Lit() == "cat" && len(call.Assigns) == 0
}

// sameEnd reports whether bash 3.2, which looks for the end of a substitution without regard to
// here-documents, finds it where other shells do: all quotes and brackets of the text are closed.
func sameEnd(text string) bool {
	if strings.ContainsAny(text, "\"`\\$") || strings.Count(text, "'")%2 != 0 {
		return false
	}
	brackets := strings.ContainsAny(text, "()")
	if brackets && strings.ContainsAny(text, "'#") {
		return false
	}
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			open++
		case ')':
			if open--; open < 0 {
				return false
			}
		}
	}
	return open == 0 && !(strings.Contains(text, "'") && strings.Contains(text, "#"))
}
