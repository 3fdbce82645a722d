package match

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	shown "github.com/heldcall/heldcall/internal/sanitize"
)

// FoldCase maps texts that differ only in letter case, in any script, to one.
func FoldCase(s string) string {
	capitals := false
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return foldAll(s)
		}
		capitals = capitals || (s[i] >= 'A' && s[i] <= 'Z')
	}
	if capitals {
		return strings.ToLower(s)
	}
	return s
}

func foldAll(s string) string {
	usual := folds()
	return strings.Map(func(r rune) rune {
		if int(r) < len(usual) {
			return usual[r]
		}
		return fold(r)
	}, s)
}

// folds has the forms of usual letters, as it takes long to find them.
var folds = sync.OnceValue(func() []rune {
	table := make([]rune, 0x600) // Latin, Greek, Cyrillic, Hebrew
	for r := range table {
		table[r] = fold(rune(r))
	}
	return table
})

// fold returns the one form of a letter in all cases.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}

// IsLetter reports whether a byte is an ASCII letter.
func IsLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// Hidden reports whether a character is invisible to reviewers. Line ends and tabs are expected.
func Hidden(r rune) bool {
	return !unicode.IsPrint(r) && !slices.Contains([]rune{'\n', '\t', '\r'}, r)
}

// Invisible returns a sentence if a text contains invisible characters, else "".
func Invisible(text string) string {
	if !isPlain(text) && strings.ContainsFunc(text, Hidden) {
		return "The call contains invisible characters."
	}
	return ""
}

// Shorten returns at most the first n characters, made visible, and the number of bytes left out.
func Shorten(text string, n int) string {
	if len(text) <= n {
		return Visible(text)
	}
	end := 0
	for range n {
		if end == len(text) {
			return Visible(text)
		}
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if end == len(text) {
		return Visible(text)
	}
	return Visible(text[:end]) + "… (" + strconv.Itoa(len(text)-end) + " more bytes)"
}

// Tail returns at most the last n characters of a path, made visible: its end tells most.
func Tail(path string, n int) string {
	start := len(path)
	for range n {
		if start == 0 {
			return Visible(path)
		}
		_, size := utf8.DecodeLastRuneInString(path[:start])
		start -= size
	}
	if start == 0 {
		return Visible(path)
	}
	return "…" + Visible(path[start:])
}

// Visible replaces unprintable characters by their escapes.
func Visible(text string) string {
	if isPlain(text) {
		return text
	}
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

// isPlain reports whether a text is ASCII and printable.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// MaxPreview is how many characters of a resource a list shows.
const MaxPreview = 160

// Preview is a text on one short line, with long runs of white space marked.
func Preview(text string) string { return Shorten(shown.Blanks(text), MaxPreview) }

// Quote is a short part of a call or rule as a reviewer sees it.
func Quote(text string) string { return "`" + Shorten(text, maxPart) + "`" }

// maxPart is how many characters are shown of the part of a call that is in doubt.
const maxPart = 80

// SentencePart is a sentence after a colon.
func SentencePart(sentence string) string {
	sentence = strings.TrimSuffix(sentence, ".")
	if sentence == "" {
		return sentence
	}
	return strings.ToLower(sentence[:1]) + sentence[1:]
}
