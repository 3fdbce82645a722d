package policy

import (
	"slices"
	"strings"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
)

// statements are the effects of SQL statements by their first word.
var statements = map[string]approvals.EffectKind{
	"select": approvals.EffectRead, "with": approvals.EffectRead, "values": approvals.EffectRead, "table": approvals.EffectRead,
	"show": approvals.EffectRead, "describe": approvals.EffectRead, "desc": approvals.EffectRead,
	"insert": approvals.EffectWrite, "create": approvals.EffectWrite, "comment": approvals.EffectWrite,
	// Rows that are changed or replaced have no former value in the statement.
	"update": approvals.EffectDestroy, "merge": approvals.EffectDestroy, "replace": approvals.EffectDestroy,
	"delete": approvals.EffectDestroy, "drop": approvals.EffectDestroy, "truncate": approvals.EffectDestroy, "alter": approvals.EffectDestroy,
	"grant": approvals.EffectPrivilege, "revoke": approvals.EffectPrivilege,
}

// pure are SQL functions and words before a parenthesis that change nothing and read no file.
var pure = strings.Fields("abs all and any as avg between by cast ceil coalesce concat count date exists floor from group having in is join length like limit lower max min not nullif on or over partition round select substr substring sum then trim union upper using values when where with")

// writing are words that make a statement more than a read.
var writing = strings.Fields("alter analyze call create delete do drop execute grant insert into lock merge replace set truncate update")

// sql adds the effects of SQL statements. The place of a database is not known.
func (f *effectFinder) sql(text string) {
	// Databases differ in what a comment, a backslash and a dollar sign mean.
	differs := strings.ContainsAny(text, "\\$#`\x00") || strings.Contains(text, "--") || strings.Contains(text, "/*")
	all, whole := sqlStatements(text)
	if differs || !whole {
		f.unknown(f.c.Call.Tool)
		return
	}
	for _, words := range all {
		kind, known := statements[words[0]]
		if !known || (kind == approvals.EffectRead && !onlyReads(words)) {
			kind = approvals.EffectUnknown
		}
		f.add(kind, "the database", "", kind == approvals.EffectRead)
	}
}

// onlyReads reports whether a statement that begins like a query is known to change nothing.
func onlyReads(words []string) bool {
	for i, word := range words {
		if i > 0 && slices.Contains(writing, word) {
			return false
		}
		if called := i+1 < len(words) && words[i+1] == "("; called && !slices.Contains(pure, word) && word != "(" {
			return false
		}
	}
	return true
}

// sqlStatements returns the words, parentheses and quoted texts of each statement in lower case,
// and false if a quoted text does not end.
func sqlStatements(text string) (all [][]string, whole bool) {
	var words []string
	end := func() {
		if len(words) > 0 {
			all, words = append(all, words), nil
		}
	}
	for text = strings.ToLower(text); text != ""; {
		switch c := text[0]; {
		case c == ';':
			end()
			text = text[1:]
		case c == '\'' || c == '"':
			length := strings.IndexByte(text[1:], c) + 2
			if length < 2 {
				return nil, false
			}
			words, text = append(words, string(c)), text[length:]
		case isSQLName(c):
			length := strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII || !isSQLName(byte(r)) })
			if length < 0 {
				length = len(text)
			}
			words, text = append(words, text[:length]), text[length:]
		case c == '(':
			words, text = append(words, "("), text[1:]
		case c >= 0x80: // a name that is not plain
			words, text = append(words, "_"), text[1:]
		default:
			text = text[1:]
		}
	}
	end()
	return all, true
}

func isSQLName(c byte) bool {
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.'
}
