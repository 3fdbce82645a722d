package sanitize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON writes invisible and ambiguous runes as JSON escapes. The value stays the same,
// because such runes occur only within strings.
func JSON(text []byte) string {
	var out strings.Builder
	for _, r := range string(text) {
		switch {
		case Rune(r), r == '\n':
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

// Indented is [JSON] over several lines, unless it would become many times as long.
// Text that is not JSON keeps its lines.
func Indented(text []byte) string {
	var out bytes.Buffer
	switch {
	case !json.Valid(text):
		return Lines(string(text))
	case spread(text) > 4*len(text)+64<<10 || json.Indent(&out, text, "", "  ") != nil:
		return JSON(text)
	}
	return JSON(out.Bytes())
}

// Arguments is what a request is about, to be read: free text, which is a JSON string, with its
// lines, and other arguments [Indented]. Long runs of spaces are marked.
func Arguments(value []byte, freeText bool) string {
	var text string
	if freeText && json.Unmarshal(value, &text) == nil {
		return Spaces(Lines(text))
	}
	return Spaces(Indented(value))
}

// spread is about how long JSON is when it is indented.
func spread(text []byte) int {
	long, depth, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		long++
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
			long += 1 + 2*depth
		case c == '}' || c == ']':
			depth--
			long += 1 + 2*depth
		case c == ',':
			long += 1 + 2*depth
		}
	}
	return long
}
