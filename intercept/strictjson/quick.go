package strictjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
	"unicode/utf8"
)

// quick reads strict JSON several times as fast as the strict decoder. It leaves to the
// decoder whatever it is not sure of. It accepts one value by the grammar of RFC 8259.
// Each string is valid UTF-8 with the escapes of the RFC and whole surrogate pairs, and
// the names of an object have no escapes and differ byte for byte, so that they differ
// for every reader. The decoder accepts such text too: FuzzQuick compares the two.
type quick struct {
	b     []byte
	known []byte   // the contents of a long string that were read before, nil for none
	marks []string // strings of letters and underscores to search for, below the top level
	found uint     // those that may be there, as bits
	names []quickName

	lists []List
	items ItemReader // of the list that is being read
}

// scope is the place of a value with regard to [ItemReader].
type scope int

const (
	elsewhere scope = iota
	topLevel
	list
	anItem
	memberOfItem
	aPart
)

// quickName is a name of an open object, with a sum that is compared first.
type quickName struct {
	sum uint64
	at  Span
}

const (
	quickDepth   = 128 // deeper values are left to the decoder
	quickMembers = 64  // and so are objects with more: each name is compared with all before it
)

// undecided is the end of a value that a quick reader is not sure of.
const undecided = -1

// quickNames are buffers for the names of objects.
var quickNames = sync.Pool{New: func() any { n := make([]quickName, 0, 2*quickMembers); return &n }}

// isQuick reports whether b is strict JSON for sure.
func isQuick(b []byte) bool {
	q := quick{b: b}
	return q.whole(nil)
}

// whole reads all of the text. If the value is an object, it calls field, unless that is
// nil, for each of its fields.
func (q *quick) whole(field func(name []byte, value Span)) bool {
	buffer := quickNames.Get().(*[]quickName)
	defer quickNames.Put(buffer)
	q.names = (*buffer)[:0]
	i := q.space(0)
	if i < len(q.b) && q.b[i] == '{' {
		i = q.object(i+1, 1, topLevel, field)
	} else {
		i = q.value(i, 0, elsewhere)
	}
	return i != undecided && q.space(i) == len(q.b)
}

// space returns the end of the blanks at i.
func (q *quick) space(i int) int {
	for i < len(q.b) && (q.b[i] == ' ' || q.b[i] == '\n' || q.b[i] == '\r' || q.b[i] == '\t') {
		i++
	}
	return i
}

// value reads the value at i, at the given depth and place, and returns its end.
func (q *quick) value(i, depth int, s scope) int {
	if i >= len(q.b) || depth == quickDepth {
		return undecided
	}
	switch c := q.b[i]; c {
	case '"':
		return q.text(i + 1)
	case '{':
		return q.object(i+1, depth+1, s, nil)
	case '[':
		return q.elements(i+1, depth+1, s)
	case 't':
		return q.literal(i, "true")
	case 'f':
		return q.literal(i, "false")
	case 'n':
		return q.literal(i, "null")
	}
	return q.number(i)
}

func (q *quick) literal(i int, word string) int {
	if end := i + len(word); end <= len(q.b) && string(q.b[i:end]) == word {
		return end
	}
	return undecided
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (q *quick) number(i int) int {
	if q.at(i) == '-' {
		i++
	}
	start := i
	if i = q.digits(i); i == start || (q.b[start] == '0' && i > start+1) {
		return undecided
	}
	if q.at(i) == '.' {
		if start, i = i+1, q.digits(i+1); i == start {
			return undecided
		}
	}
	if q.at(i)|0x20 == 'e' {
		if i++; q.at(i) == '+' || q.at(i) == '-' {
			i++
		}
		if start, i = i, q.digits(i); i == start {
			return undecided
		}
	}
	return i
}

// at is the byte at i, 0 after the end.
func (q *quick) at(i int) byte {
	if i < len(q.b) {
		return q.b[i]
	}
	return 0
}

func (q *quick) digits(i int) int {
	for i < len(q.b) && q.b[i] >= '0' && q.b[i] <= '9' {
		i++
	}
	return i
}

// text reads a string value whose contents begin at i.
func (q *quick) text(i int) int {
	if isString(q.b[i:], q.known) {
		return i + len(q.known) + 1
	}
	n, escaped := stringLength(q.b[i:])
	if n < 0 {
		return undecided
	}
	q.look(q.b[i:i+n], escaped)
	return i + n + 1
}

// isString reports whether b begins with the contents of a string and its closing quote.
func isString(b, contents []byte) bool {
	n := len(contents)
	return n > 0 && n < len(b) && b[n] == '"' && bytes.HasPrefix(b, contents)
}

// look records which marks a string may be. A mark consists of letters and underscores,
// whose only escape is \u00XX, six bytes for one.
func (q *quick) look(text []byte, escaped bool) {
	for m, mark := range q.marks {
		if len(text) >= len(mark) && len(text) <= 6*len(mark) &&
			(string(text) == mark || (escaped && bytes.Contains(text, []byte(`\u00`)))) {
			q.found |= 1 << m
		}
	}
}

// elements reads the rest of an array.
func (q *quick) elements(i, depth int, s scope) int {
	of := elsewhere
	if s == list || s == memberOfItem {
		of = s + 1
	}
	if i = q.space(i); q.at(i) == ']' {
		return i + 1
	}
	for {
		if i = q.value(i, depth, of); i == undecided {
			return undecided
		}
		if of == anItem {
			q.items.ItemEnd()
		}
		switch i = q.space(i); q.at(i) {
		case ',':
			i = q.space(i + 1)
		case ']':
			return i + 1
		default:
			return undecided
		}
	}
}

// object reads the rest of an object. It calls field, unless that is nil, for each member.
func (q *quick) object(i, depth int, s scope, field func(name []byte, value Span)) int {
	outer := len(q.names)
	if i = q.space(i); q.at(i) == '}' {
		return i + 1
	}
	for {
		name := i + 1
		if i = q.name(i, outer); i == undecided {
			return undecided
		}
		if depth > 1 {
			q.look(q.b[name:i-1], false)
		}
		end := i - 1
		if i = q.space(i); q.at(i) != ':' {
			return undecided
		}
		start := q.space(i + 1)
		if i = q.value(start, depth, q.member(s, q.b[name:end])); i == undecided {
			return undecided
		}
		switch {
		case field != nil:
			field(q.b[name:end], Span{start, i})
		case s == anItem:
			q.items.Member(q.b[name:end], q.b[start:i])
		case s == aPart:
			q.items.Part(q.b[name:end], q.b[start:i])
		}
		switch i = q.space(i); q.at(i) {
		case ',':
			i = q.space(i + 1)
		case '}':
			q.names = q.names[:outer]
			return i + 1
		default:
			return undecided
		}
	}
}

// member is the place of a member of an object.
func (q *quick) member(s scope, name []byte) scope {
	switch s {
	case anItem:
		return memberOfItem
	case topLevel:
		for i := range q.lists {
			if q.lists[i].Field == string(name) {
				q.items = q.lists[i].Items
				return list
			}
		}
	}
	return elsewhere
}

// name reads the name at i, which must differ from those since outer, the names of the
// same object.
func (q *quick) name(i, outer int) int {
	if q.at(i) != '"' || len(q.names)-outer == quickMembers {
		return undecided
	}
	i++
	n, escaped := stringLength(q.b[i:])
	if n < 0 || escaped {
		return undecided
	}
	own := quickName{nameSum(q.b[i : i+n]), Span{i, i + n}}
	for _, other := range q.names[outer:] {
		if other.sum == own.sum && string(q.b[other.at.Start:other.at.End]) == string(q.b[i:i+n]) {
			return undecided
		}
	}
	q.names = append(q.names, own)
	return i + n + 1
}

// nameSum is equal for equal names, and seldom for others.
func nameSum(name []byte) (sum uint64) {
	if len(name) >= 8 {
		return binary.LittleEndian.Uint64(name)*31 + binary.LittleEndian.Uint64(name[len(name)-8:]) + uint64(len(name))
	}
	for _, c := range name {
		sum = sum<<8 | uint64(c)
	}
	return sum
}

// stringLength returns the length of the string contents at the front of b up to the
// closing quote, and whether they contain escapes. It is -1 if they are not strict JSON:
// control bytes, invalid UTF-8, unknown escapes, halves of surrogate pairs, or no closing
// quote.
func stringLength(b []byte) (n int, escaped bool) {
	for i := 0; ; {
		for ; len(b)-i >= 8; i += 8 {
			if w := special(binary.LittleEndian.Uint64(b[i:])); w != 0 {
				i += bits.TrailingZeros64(w) / 8
				break
			}
		}
		if i >= len(b) {
			return -1, escaped
		}
		switch c := b[i]; {
		case c == '"':
			return i, escaped
		case c == '\\' && i+1 < len(b) && shortEscape[b[i+1]]:
			escaped, i = true, i+2
		case c == '\\':
			n := escape(b[i+1:])
			if n == 0 {
				return -1, true
			}
			escaped, i = true, i+1+n
		case c < 0x20:
			return -1, escaped
		case c < utf8.RuneSelf:
			i++
		default:
			n := runesLength(b[i:])
			if n < 0 {
				return -1, escaped
			}
			i += n
		}
	}
}

// runesLength returns the length of the characters outside ASCII at the front of b, -1
// if they are not valid UTF-8.
func runesLength(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= utf8.RuneSelf {
		n++
	}
	if !utf8.Valid(b[:n]) {
		return -1
	}
	return n
}

// special sets the high bits of those of eight bytes that are special in a JSON string:
// control bytes, the quote, the backslash, and bytes outside ASCII. Subtracting borrows
// into the high bit of each byte that is too small, and of bytes above it at most: the
// lowest marked byte is special (Mycroft's test).
func special(w uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	return (w | (w - 0x20*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) & high
}

// shortEscape has the second byte of each escape of two bytes.
var shortEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}
