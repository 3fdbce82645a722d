// Package textview writes requests, runs, grants, delegations and verdicts as text for a
// terminal. Text of models, agents and reviewers is escaped. To read it: request.go and
// requests.go, a file for each other subject, then text.go.
package textview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/internal/sanitize"
)

// PreviewWidth is the width of a preview in a list, in runes.
const PreviewWidth = 60

// JSON writes a value as indented JSON that is safe on a terminal.
func JSON(w io.Writer, value any) error {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err := io.WriteString(w, sanitize.JSON(content.Bytes()))
	return err
}

// SpacedJSON returns JSON over several lines to be read, with long runs of spaces marked.
func SpacedJSON(text []byte) string { return sanitize.Spaces(sanitize.Indented(text)) }

// CompactJSON removes the white space of JSON. Text that is not JSON stays as it is.
func CompactJSON(value []byte) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return value
	}
	return compact.Bytes()
}

// Shorten cuts a text to a number of runes, with an ellipsis at its end.
func Shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// Indent moves every line but the first to the right.
func Indent(text string, by int) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", by))
}

// Join joins the parts that are not empty.
func Join(separator string, parts ...string) string {
	var filled []string
	for _, part := range parts {
		if part != "" {
			filled = append(filled, part)
		}
	}
	return strings.Join(filled, separator)
}

// endTable writes a table, and that there is more of it where a next page begins.
func endTable(w io.Writer, table *tabwriter.Writer, nextCursor string) error {
	if err := table.Flush(); err != nil {
		return err
	}
	if nextCursor == "" {
		return nil
	}
	_, err := fmt.Fprintln(w, "There are more; list them with --limit.")
	return err
}

// CheckJSON refuses what two parsers could read differently.
func CheckJSON(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.ReadValue(); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("%q follows the value", Shorten(string(rest), PreviewWidth))
	}
	return nil
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:+-]+$`)

// ShellWord writes a word for a shell.
func ShellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
