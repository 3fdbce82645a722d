package quoting

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// literalDocument returns the text of a here-document in which a shell expands nothing, as its
// delimiter is quoted.
func literalDocument(r *syntax.Redirect) (string, bool) {
	if r.Hdoc == nil || r.N != nil || r.Op != syntax.Hdoc || r.Word == nil || len(r.Word.Parts) != 1 {
		return "", false
	}
	delimiter := ""
	switch part := r.Word.Parts[0].(type) {
	case *syntax.SglQuoted:
		if !part.Dollar {
			delimiter = part.Value
		}
	case *syntax.DblQuoted:
		if !part.Dollar && len(part.Parts) == 1 {
			if lit, ok := part.Parts[0].(*syntax.Lit); ok {
				delimiter = lit.Value
			}
		}
	}
	if delimiter == "" || strings.ContainsFunc(delimiter, func(r rune) bool { return r >= 0x80 || (r != '_' && !isDigit(byte(r)) && !isLetter(byte(r))) }) {
		return "", false
	}
	var text strings.Builder
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		text.WriteString(lit.Value)
	}
	return text.String(), true
}

// PlainDocument reports whether a redirection of a statement is a literal here-document for one
// command.
func PlainDocument(stmt *syntax.Stmt, r *syntax.Redirect) bool {
	_, literal := literalDocument(r)
	_, one := stmt.Cmd.(*syntax.CallExpr)
	return literal && one
}

// DocumentWord returns the text of $(cat <<'EOF' ...) in double quotes.
func DocumentWord(part syntax.WordPart) (string, bool) {
	sub, ok := part.(*syntax.CmdSubst)
	if !ok || sub.Backquotes || sub.TempFile || sub.ReplyVar || len(sub.Stmts) != 1 || len(sub.Last) > 0 {
		return "", false
	}
	stmt := sub.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 || call.Args[0].Lit() != "cat" || len(call.Assigns) > 0 || len(stmt.Redirs) != 1 ||
		len(stmt.Comments) > 0 || stmt.Negated || stmt.Background || stmt.Coprocess || stmt.Disown {
		return "", false
	}
	text, ok := literalDocument(stmt.Redirs[0])
	if !ok || !sameEnd(text) {
		return "", false
	}
	return strings.TrimRight(text, "\n"), true
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
