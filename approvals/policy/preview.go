package policy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	shown "github.com/heldcall/heldcall/internal/visible"
)

// maxPreview is how many characters of a resource a list shows.
const maxPreview = 160

// preview is a text on one short line, with long runs of white space marked.
func preview(text string) string { return shorten(shown.Blanks(text), maxPreview) }

// preview is the resource on one short line. Arguments that stand for it are in the order
// in which the model wrote them.
func (s *subject) preview() string {
	if s.kind != asPlain || s.call.FreeText || len(s.doubts) > 0 || s.text != s.whole() {
		return preview(s.text)
	}
	v := jsontext.Value(orEmptyObject(s.call.Arguments))
	if v.Format() != nil {
		return preview(s.text)
	}
	return preview(string(v))
}

// shorten makes at most the first n characters of a text visible and says how
// much is left out.
func shorten(text string, n int) string {
	end := 0
	for range n {
		if end == len(text) {
			return visible(text)
		}
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if end == len(text) {
		return visible(text)
	}
	return fmt.Sprintf("%s… (%d more bytes)", visible(text[:end]), len(text)-end)
}

// visible shows what is not a printable character as its escape.
func visible(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		i += size
	}
	return b.String()
}
