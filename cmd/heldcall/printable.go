package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A model's words must not move the cursor, hide text, or turn it around on the
// reviewer's terminal: whatever is not plainly visible is printed as an escape.

// visible reports whether a rune shows itself and nothing else.
func visible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// printable escapes a text for one line of a terminal.
func printable(text string) string { return escape(text, false) }

// printableLines escapes a text for a terminal, line breaks and tabs aside.
func printableLines(text string) string { return escape(text, true) }

func escape(text string, lines bool) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case visible(r), lines && (r == '\n' || r == '\t'):
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

// escapeJSON writes what is not plainly visible in JSON as JSON escapes, so that
// it stays the same JSON. Such runes stand only within strings.
func escapeJSON(text []byte) string {
	var out strings.Builder
	for _, r := range string(text) {
		switch {
		case visible(r), r == '\n':
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// shorten cuts a text to a number of runes and says so with an ellipsis.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
