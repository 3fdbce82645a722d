package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansiEscapes are the escapes of $'...' for one character.
var ansiEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansiC returns the text of $'...'. It is false if shells differ: for NUL and rare escapes.
func ansiC(text string) (string, bool) {
	var b strings.Builder
	for len(text) > 0 {
		before, rest, escaped := strings.Cut(text, `\`)
		b.WriteString(before)
		if !escaped {
			break
		}
		if rest == "" {
			return "", false
		}
		n, ok := ansiEscape(&b, rest)
		if !ok {
			return "", false
		}
		text = rest[n:]
	}
	return b.String(), true
}

// ansiEscape writes the character of the escape at the start of a text and returns the escape's
// length without the backslash.
func ansiEscape(b *strings.Builder, text string) (n int, ok bool) {
	if c, ok := ansiEscapes[text[0]]; ok {
		b.WriteByte(c)
		return 1, true
	}
	from, most, base := numberForm(text[0])
	if most == 0 {
		return 0, false
	}
	end := from
	for end < len(text) && end < from+most && isDigitOf(text[end], base) {
		end++
	}
	code, err := strconv.ParseUint(text[from:end], base, 32)
	switch {
	case err != nil || code == 0 || (base == 8 && byte(code) == 0):
		return 0, false
	case text[0] == 'u' || text[0] == 'U':
		if code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
			return 0, false
		}
		b.WriteRune(rune(code))
	default:
		b.WriteByte(byte(code))
	}
	return end, true
}

// numberForm returns the first digit, the most digits and the base of an escape by number. most is
// 0 if there is no such escape.
func numberForm(c byte) (from, most, base int) {
	switch c {
	case 'x':
		return 1, 2, 16
	case 'u':
		return 1, 4, 16
	case 'U':
		return 1, 8, 16
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return 0, 3, 8
	}
	return 0, 0, 0
}

func isDigitOf(c byte, base int) bool {
	_, err := strconv.ParseUint(string(c), base, 8)
	return err == nil
}
