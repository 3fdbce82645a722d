package mask

import (
	"bytes"
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
			if bytes.IndexByte(v.text, '%') >= 0 && !yield(v.unescaped('%')) {
				return
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
// JSON strings, % for those of URLs.
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

// appendUnescaped appends what the escape at the beginning of a text encodes, and
// returns the length of the escape. A byte that begins no escape is one itself.
func appendUnescaped(dst, text []byte) ([]byte, int) {
	if text[0] == '%' {
		if b, ok := strictjson.Hex(text[1:], 2); ok {
			return append(dst, byte(b)), 3
		}
		return append(dst, '%'), 1
	}
	if len(text) == 1 {
		return append(dst, '\\'), 1
	}
	switch c := text[1]; c {
	case 'b', 'f', 'n', 'r', 't':
		return append(dst, "\b\f\n\r\t"[bytes.IndexByte([]byte("bfnrt"), c)]), 2
	case '"', '\\', '/':
		return append(dst, c), 2
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
