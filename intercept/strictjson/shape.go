package strictjson

import "bytes"

// Span is a range of bytes, from Start up to and without End.
type Span struct{ Start, End int }

// Shape recognises a payload that differs from a decoded one only in string values that
// contain text and in numbers that count. Names, structure and all other values are the
// same bytes, and every JSON parser reads each differing value alike, so that the second
// payload means the same as the first. It spares most events of a stream the strict
// decoder. A payload that it does not recognise is decoded.
type Shape struct {
	literals [][]byte // around the slots: one more than there are slots
	numbers  []bool   // by slot: it is a number
}

// NewShape returns the shape of a payload, which [Strict] has accepted. Slots are the
// inner bytes of string values in it (without their quotes) and whole numbers without a
// sign, in order.
func NewShape(payload []byte, slots []Span) Shape {
	kept := bytes.Clone(payload)
	literals := make([][]byte, 0, len(slots)+1)
	numbers := make([]bool, 0, len(slots))
	at := 0
	for _, s := range slots {
		number := kept[s.Start-1] != '"'
		if number && plainNumber(kept[s.Start:]) != s.End-s.Start {
			return Shape{}
		}
		literals, numbers = append(literals, kept[at:s.Start]), append(numbers, number)
		at = s.End
	}
	return Shape{append(literals, kept[at:]), numbers}
}

// Match reports whether payload has the shape, and appends the inner bytes of
// its slots to texts. Those of strings are escaped as JSON strings are; all
// alias payload.
func (s *Shape) Match(payload []byte, texts [][]byte) ([][]byte, bool) {
	if len(s.literals) < 2 {
		return texts, false
	}
	for i, number := range s.numbers {
		literal := s.literals[i]
		if !bytes.HasPrefix(payload, literal) {
			return texts, false
		}
		payload = payload[len(literal):]
		n := 0
		if number {
			n = plainNumber(payload)
		} else {
			n, _ = stringLength(payload)
		}
		if n < 0 {
			return texts, false
		}
		texts = append(texts, payload[:n])
		payload = payload[n:]
	}
	return texts, bytes.Equal(payload, s.literals[len(s.literals)-1])
}

// maxDigits bounds a number so that every parser reads it exactly.
const maxDigits = 15

// plainNumber returns the length of the whole number at the front of b, -1 if there is
// none. No digit, sign or point follows it in a payload, because a literal of the shape
// does.
func plainNumber(b []byte) int {
	n := 0
	for n < len(b) && n < maxDigits && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	if n == 0 || (b[0] == '0' && n > 1) {
		return -1
	}
	return n
}

// escape returns the length of the escape sequence at the front of b, without its
// backslash, 0 if there is none. A surrogate counts with its other half.
func escape(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case shortEscape[b[0]]:
		return 1
	case b[0] != 'u':
		return 0
	}
	first, ok := Hex(b[1:], 4)
	switch {
	case !ok || (first >= 0xdc00 && first <= 0xdfff):
		return 0
	case first < 0xd800 || first > 0xdbff:
		return 5
	case len(b) < 11 || b[5] != '\\' || b[6] != 'u':
		return 0
	}
	second, ok := Hex(b[7:], 4)
	if !ok || second < 0xdc00 || second > 0xdfff {
		return 0
	}
	return 11
}

// Hex reads a number of n hexadecimal digits.
func Hex(b []byte, n int) (value rune, ok bool) {
	if len(b) < n {
		return 0, false
	}
	for _, c := range b[:n] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		value = value<<4 | rune(c)
	}
	return value, true
}
