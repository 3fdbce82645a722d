// Package visible shows people the texts of models: such a text must not move the
// cursor, hide a part of itself, or turn it around. Whatever is not plainly visible
// is written as an escape.
package visible

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

// Line escapes a text for one line.
func Line(text string) string { return escape(text, false) }

// Lines escapes a text, line breaks and tabs aside.
func Lines(text string) string { return escape(text, true) }

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
