package mask

import (
	"bytes"
	"html"
	"iter"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// view is a text without its escapes, and where its bytes come from.
type view struct {
	text   []byte
	parent *view   // with the escapes; nil: the text is the source itself
	places []place // after each escape
	spaces bool    // white space is left out, which is no part of the text before it
}

// place maps a byte of a view to its parent. The bytes after it follow one by one.
type place struct{ at, parent int }

// source returns the offset in the source of an offset in the view.
func (v *view) source(at int) int {
	if v.parent == nil {
		return at
	}
	i, exact := slices.BinarySearchFunc(v.places, at, func(p place, at int) int { return p.at - at })
	if !exact {
		i--
	}
	if i >= 0 {
		at = v.places[i].parent + at - v.places[i].at
	}
	return v.parent.source(at)
}

// end returns the offset in the source of the end of a part of the view.
func (v *view) end(at int) int {
	if v.spaces {
		return v.source(at-1) + 1
	}
	return v.source(at)
}

// white are the bytes that programs put between the digits of base64.
const white = " \t\r\n"

// minDigits is the least number of digits on each line of base64 but the last: more than most words have.
const minDigits = 12

// classes of bytes, in base64 with white space.
const (
	isDigit = 1 + iota
	isWhite
)

var classes = func() (of [256]byte) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		of[c] = isDigit
	}
	for _, c := range []byte(white) {
		of[c] = isWhite
	}
	return of
}()

// joined returns a view without the white space that may be in base64, nil if there is none. before is the
// number of digits that may be before the text, on its first line.
func (v *view) joined(before int) *view {
	text := v.text
	var inner *view
	from := 0 // of the bytes that are not copied yet
	digits := before
	for at := 0; at < len(text); at++ {
		switch classes[text[at]] {
		case isDigit:
			digits++
			continue
		case isWhite:
		default:
			digits = 0
			continue
		}
		end := at + 1
		for end < len(text) && classes[text[end]] == isWhite {
			end++
		}
		if digits >= minDigits && end < len(text) && classes[text[end]] == isDigit {
			if inner == nil {
				inner = &view{text: make([]byte, 0, len(text)), parent: v, spaces: true}
			}
			inner.text = append(inner.text, text[from:at]...)
			inner.places = append(inner.places, place{len(inner.text), end})
			from = end
		}
		digits, at = 0, end-1
	}
	if inner != nil {
		inner.text = append(inner.text, text[from:]...)
	}
	return inner
}

// digits returns the text without the white space that may be in base64, also at its end; nil if it has
// no white space.
func (v *view) digits() []byte {
	if !bytes.ContainsAny(v.text, white) {
		return nil
	}
	trimmed := view{text: bytes.TrimRight(v.text, white)}
	if joined := trimmed.joined(minDigits); joined != nil {
		return joined.text
	}
	return trimmed.text
}

// maxNested is how often a text may be encoded as a JSON string: arguments of a call are a
// string in the body, and may have JSON in their strings.
const maxNested = 4

// views returns a text without its JSON escapes, from none to all levels, and each of
// these without the escapes of URLs. JSON in a URL is a text whose escapes of URLs are undone
// first.
func views(text []byte) iter.Seq[*view] {
	return func(yield func(*view) bool) {
		for v := range (&view{text: text}).unnested() {
			if !yield(v) {
				return
			}
			for _, escape := range []byte{'%', '&'} {
				if bytes.IndexByte(v.text, escape) >= 0 && !yield(v.unescaped(escape)) {
					return
				}
			}
		}
		if !bytes.Contains(text, []byte("%5C")) && !bytes.Contains(text, []byte("%5c")) { // a backslash
			return
		}
		for v := range (&view{text: text}).unescaped('%').unnested() {
			if !yield(v) {
				return
			}
		}
	}
}

// unnested returns a view and what it is without its JSON escapes, from none to all levels.
func (v *view) unnested() iter.Seq[*view] {
	return func(yield func(*view) bool) {
		for level := 0; yield(v) && level < maxNested && bytes.IndexByte(v.text, '\\') >= 0; level++ {
			v = v.unescaped('\\')
		}
	}
}

// unescaped returns a view without the escapes that begin with a byte: \ for those of
// strings of JSON, YAML and Python, % for those of URLs, & for those of HTML.
func (v *view) unescaped(escape byte) *view {
	text := v.text
	inner := &view{text: make([]byte, 0, len(text)), parent: v, places: make([]place, 0, bytes.Count(text, []byte{escape}))}
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], escape)
		if i < 0 {
			inner.text = append(inner.text, text[from:]...)
			return inner
		}
		inner.text = append(inner.text, text[from:from+i]...)
		var n int
		inner.text, n = appendUnescaped(inner.text, text[from+i:])
		from += i + n
		inner.places = append(inner.places, place{len(inner.text), from})
	}
}

// maxEntity is the length of the longest entity of HTML that is undone.
const maxEntity = 12

// appendUnescaped appends what the escape at the beginning of a text encodes, and
// returns the length of the escape. A byte that begins no escape is one itself.
func appendUnescaped(dst, text []byte) ([]byte, int) {
	switch text[0] {
	case '%':
		if b, ok := strictjson.Hex(text[1:], 2); ok {
			return append(dst, byte(b)), 3
		}
		return append(dst, '%'), 1
	case '&':
		return appendEntity(dst, text)
	}
	return appendBackslash(dst, text)
}

// appendEntity does so for an entity of HTML.
func appendEntity(dst, text []byte) ([]byte, int) {
	entity := text[:min(len(text), maxEntity)]
	if end := bytes.IndexByte(entity, ';'); end > 0 {
		if plain := html.UnescapeString(string(entity[:end+1])); plain != string(entity[:end+1]) {
			return append(dst, plain...), end + 1
		}
	}
	return append(dst, '&'), 1
}

// appendBackslash does so for an escape of a string of JSON, YAML or Python.
func appendBackslash(dst, text []byte) ([]byte, int) {
	if len(text) == 1 {
		return append(dst, '\\'), 1
	}
	switch c := text[1]; c {
	case 'b', 'f', 'n', 'r', 't':
		return append(dst, "\b\f\n\r\t"[bytes.IndexByte([]byte("bfnrt"), c)]), 2
	case '"', '\\', '/', '\'':
		return append(dst, c), 2
	case 'x':
		if r, ok := strictjson.Hex(text[2:], 2); ok {
			return utf8.AppendRune(dst, r), 4
		}
	case 'u':
		r, ok := strictjson.Hex(text[2:], 4)
		if !ok {
			break
		}
		if utf16.IsSurrogate(r) && len(text) > 7 && text[6] == '\\' && text[7] == 'u' {
			if low, ok := strictjson.Hex(text[8:], 4); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				return utf8.AppendRune(dst, utf16.DecodeRune(r, low)), 12
			}
		}
		return utf8.AppendRune(dst, r), 6
	}
	return append(dst, '\\'), 1
}
