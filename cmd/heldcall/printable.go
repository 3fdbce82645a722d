package main

import "github.com/heldcall/heldcall/internal/sanitize"

// printable escapes a text for one line of a terminal.
func printable(text string) string { return sanitize.Line(text) }

// printableLines escapes a text for a terminal, line breaks and tabs aside.
func printableLines(text string) string { return sanitize.Lines(text) }

// escapeJSON escapes JSON for a terminal; it stays the same JSON.
func escapeJSON(text []byte) string { return sanitize.JSON(text) }

// shownJSON is JSON over several lines to be read, with long runs of spaces marked.
func shownJSON(text []byte) string { return sanitize.Spaces(sanitize.Indented(text)) }

// indentJSON is escapeJSON over several lines.
func indentJSON(text []byte) string { return sanitize.Indented(text) }

// shorten cuts a text to a number of runes, with an ellipsis at its end.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
