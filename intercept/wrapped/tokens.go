package wrapped

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// token is one token of JavaScript, as far as they are read.
type token struct {
	kind    byte   // 'a' a name, '0' a number, '"' a string, '$' a template with names, 0 the end, or a sign
	text    string // of a string its value, of a template the text of the names in it
	newline bool   // a line ends before it
}

// tokenize returns the tokens of a script. It fails at anything that is not read with certainty.
func tokenize(src string) ([]token, bool) {
	if len(src) > maxCode || !utf8.ValidString(src) {
		return nil, false
	}
	l := &lexer{rest: src}
	var all []token
	for {
		newline, ok := l.skip()
		if !ok {
			return nil, false
		}
		if l.rest == "" {
			return append(all, token{newline: newline}), true
		}
		t, ok := l.next()
		if !ok {
			return nil, false
		}
		t.newline = newline
		all = append(all, t)
	}
}

// maxCode is the longest script in bytes that is read.
const maxCode = 256 << 10

type lexer struct{ rest string }

// skip removes white space and comments.
func (l *lexer) skip() (newline, ok bool) {
	for {
		trimmed := strings.TrimLeft(l.rest, " \t\r\n")
		newline = newline || strings.ContainsAny(l.rest[:len(l.rest)-len(trimmed)], "\r\n")
		l.rest = trimmed
		end, length := "", 0
		switch {
		case strings.HasPrefix(l.rest, "//"):
			end = "\n"
		case strings.HasPrefix(l.rest, "/*"):
			end, length = "*/", 2
		default:
			return newline, true
		}
		comment, rest, found := strings.Cut(l.rest[2:], end)
		if strings.ContainsAny(comment, "\u2028\u2029\r") || (!found && length > 0) {
			return false, false // where the comment ends depends on the reader
		}
		newline = newline || length == 0 || strings.Contains(comment, "\n")
		l.rest = rest
	}
}

func (l *lexer) next() (token, bool) {
	c := l.rest[0]
	switch {
	case c == '"' || c == '\'' || c == '`':
		return l.text(c)
	case isNameByte(c) && !isDigit(c):
		return token{kind: 'a', text: l.take(isNameByte)}, true
	case isDigit(c):
		text := l.take(func(c byte) bool { return isNameByte(c) || c == '.' })
		whole, fraction, dot := strings.Cut(text, ".")
		plain := isDigits(whole) && (!dot || isDigits(fraction)) && (whole == "0" || whole[0] != '0') && len(text) <= 15
		return token{kind: '0', text: text}, plain
	case strings.IndexByte("(){}[],:;.=+-", c) >= 0:
		l.rest = l.rest[1:]
		return token{kind: c, text: string(c)}, true
	}
	return token{}, false
}

func (l *lexer) take(is func(byte) bool) string {
	i := 0
	for i < len(l.rest) && is(l.rest[i]) {
		i++
	}
	text := l.rest[:i]
	l.rest = l.rest[i:]
	return text
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || isDigit(c) || (c|0x20 >= 'a' && c|0x20 <= 'z')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// text reads a string or a template. Of a template with names, such as ${r.output}, only these are
// kept.
func (l *lexer) text(quote byte) (token, bool) {
	l.rest = l.rest[1:]
	var value []uint16
	var names []string
	for l.rest != "" {
		r, size := utf8.DecodeRuneInString(l.rest)
		switch {
		case l.rest[0] == quote:
			l.rest = l.rest[1:]
			if names != nil {
				return token{kind: '$', text: strings.Join(names, " ")}, true
			}
			text, ok := wellFormed(value)
			return token{kind: '"', text: text}, ok
		case r == '\\':
			units, ok := l.escape()
			if !ok {
				return token{}, false
			}
			value = append(value, units...)
			continue
		case quote == '`' && strings.HasPrefix(l.rest, "${"):
			inner, rest, found := strings.Cut(l.rest[2:], "}")
			if !found {
				return token{}, false
			}
			names, l.rest = append(names, strings.TrimSpace(inner)), rest
			continue
		case r == '\r', r == '\u2028', r == '\u2029', r == '\n' && quote != '`':
			return token{}, false
		}
		value = utf16.AppendRune(value, r)
		l.rest = l.rest[size:]
	}
	return token{}, false
}

// wellFormed returns the text of UTF-16, in which no half of a pair may be alone.
func wellFormed(units []uint16) (string, bool) {
	runes := utf16.Decode(units)
	for i, again := 0, utf16.Encode(runes); i < len(units); i++ {
		if again[i] != units[i] {
			return "", false
		}
	}
	return string(runes), true
}

// simpleEscapes are the characters that mean another one after a backslash.
var simpleEscapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", '\n': ""}

// escape reads an escape.
func (l *lexer) escape() ([]uint16, bool) {
	if len(l.rest) < 2 {
		return nil, false
	}
	c := l.rest[1]
	if text, ok := simpleEscapes[c]; ok {
		l.rest = l.rest[2:]
		return utf16.Encode([]rune(text)), true
	}
	digits := map[byte]int{'x': 2, 'u': 4}[c]
	if digits == 0 && c >= ' ' && c < utf8.RuneSelf && !isDigit(c) {
		l.rest = l.rest[2:]
		return []uint16{uint16(c)}, true
	}
	if digits == 0 || len(l.rest) < 2+digits {
		return nil, false
	}
	unit, err := strconv.ParseUint(l.rest[2:2+digits], 16, 16)
	l.rest = l.rest[2+digits:]
	return []uint16{uint16(unit)}, err == nil
}
