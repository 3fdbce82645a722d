package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordText is a word with its quoting removed and unknown for what a shell
// expands. It says why the word is not plain, or "".
func wordText(word *syntax.Word) (text, why string) {
	var b strings.Builder
	note := func(reason string) {
		if why == "" {
			why = reason
		}
	}
	for i, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !plainLiteral(part.Value, i == 0) {
				note("The script has a word that a shell may expand.")
			}
			b.WriteString(unescape(part.Value, false))
		case *syntax.SglQuoted:
			if part.Dollar {
				note("The script has a word in ANSI-C quoting.")
				b.WriteString(unknown)
				continue
			}
			if strings.ContainsAny(part.Value, "$`") {
				note("The script quotes a $ or a back quote.")
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			inner, reason := doubleQuoted(part)
			if reason != "" {
				note(reason)
			}
			b.WriteString(inner)
		default:
			note("The script has a word that a shell expands.")
			b.WriteString(unknown)
		}
	}
	return b.String(), why
}

func doubleQuoted(q *syntax.DblQuoted) (text, why string) {
	if q.Dollar {
		return unknown, "The script has a word in translated quoting."
	}
	var b strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			why = "The script has a word that a shell expands."
			b.WriteString(unknown)
			continue
		}
		if strings.ContainsAny(lit.Value, "\\$`!") {
			why = "The script quotes a $, a back quote, a backslash or a ! in double quotes."
		}
		b.WriteString(unescape(lit.Value, true))
	}
	return b.String(), why
}

// plainLiteral reports whether every shell takes an unquoted text for itself:
// letters and digits of any script and a few signs. At the start of a word, =
// and % mean something to some shells.
func plainLiteral(text string, first bool) bool {
	for i, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r >= 0x80:
		case strings.ContainsRune("_-./:,@+", r):
		case strings.ContainsRune("=%", r) && (i > 0 || !first):
		default:
			return false
		}
	}
	return true
}

// unescape removes the backslashes that quote. Between double quotes they do so
// only before a few signs.
func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\", text[i+1]) >= 0) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
