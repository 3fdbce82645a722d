package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansiEscapes are the escapes of $'...' that stand for one character.
var ansiEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// ansiC is what the inside of $'...' stands for. It is false where shells differ
// in that: a NUL, and escapes that only some know.
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

// ansiEscape writes what the escape at the start of a text stands for, and says
// how long it is without its backslash.
func ansiEscape(b *strings.Builder, text string) (n int, ok bool) {
	if c, ok := ansiEscapes[text[0]]; ok {
		b.WriteByte(c)
		return 1, true
	}
	most, base, from := 0, 16, 1
	switch text[0] {
	case 'x':
		most = 2
	case 'u':
		most = 4
	case 'U':
		most = 8
	case '0', '1', '2', '3', '4', '5', '6', '7':
		most, base, from = 3, 8, 0
	default:
		return 0, false
	}
	end := from
	for end < len(text) && end < from+most && isDigit(text[end], base) {
		end++
	}
	code, err := strconv.ParseUint(text[from:end], base, 32)
	switch {
	case err != nil || code == 0 || base == 8 && byte(code) == 0:
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

func isDigit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(c), base, 8)
	return err == nil
}
