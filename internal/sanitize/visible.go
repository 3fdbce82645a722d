// Package sanitize shows people the texts of models: such a text must not move the
// cursor, hide a part of itself, or turn it around. Whatever is not plainly visible
// is written as an escape.
package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rune reports whether a rune shows itself and nothing else.
func Rune(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Line escapes a text for one line, and marks long runs of spaces.
func Line(text string) string { return Spaces(escape(text, false)) }

// Lines escapes a text, line breaks and tabs aside, and marks long runs of spaces.
func Lines(text string) string { return Spaces(escape(text, true)) }

// Runs of spaces and tabs that are marked: they would push the text after them out of
// view. An indent may be longer.
const (
	longRun    = 24
	longIndent = 160
)

// Spaces writes each long run of spaces and tabs as a mark with its length, such as
// ⟨200 spaces⟩. Not for text that a person edits.
func Spaces(text string) string {
	return spaces(text, " \t", func(start int) int {
		if start == 0 || text[start-1] == '\n' {
			return longIndent
		}
		return longRun
	})
}

// Blanks is [Spaces] for previews, which are one short line: it marks each run of eight
// or more spaces, tabs and line breaks.
func Blanks(text string) string {
	return spaces(text, " \t\r\n", func(int) int { return longRun / 3 })
}

// spaces marks runs of the characters in which. limit returns the shortest run to mark,
// by where it starts.
func spaces(text, which string, limit func(start int) int) string {
	var out []byte
	done := 0
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && strings.IndexByte(which, text[i]) >= 0 {
			i++
		}
		if n := i - start; n > 0 && n >= limit(start) {
			out = fmt.Appendf(out, "%s⟨%d spaces⟩", text[done:start], n)
			done = i
		}
	}
	if done == 0 {
		return text
	}
	return string(append(out, text[done:]...))
}

func escape(text string, lines bool) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case Rune(r), lines && (r == '\n' || r == '\t'):
			out.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out.String()
}
