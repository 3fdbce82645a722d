package strictjson

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Servers that cut text between two UTF-16 units send one half of a surrogate pair at
// the end of an event and the other half at the beginning of the next event. A payload
// with such a half is not strict JSON. In text it is harmless: clients join the halves,
// or show a replacement character. In the arguments of a call clients differ, so
// heldcall joins them and releases the call in canonical form.

// fieldTree names fields by the objects that they are in; arrays in between do not count.
type fieldTree map[string]fieldTree

// cutFields are the fields that servers stream in pieces.
var cutFields = fieldTree{
	"delta": {"text": nil, "thinking": nil, "partial_json": nil}, // a string in the Responses API
	"choices": {"delta": {
		"content": nil, "refusal": nil, "reasoning": nil, "reasoning_content": nil, "reasoning_text": nil,
		"tool_calls":    {"function": {"arguments": nil}, "custom": {"input": nil}},
		"function_call": {"arguments": nil},
	}},
}

// CutText reports whether a payload is strict JSON but for halves of surrogate pairs,
// which are in fields that servers cut, or in an event that can hold no call.
func CutText(payload []byte) bool {
	text := string(payload)
	whole, halves := replaceHalves(text, func(rune) string { return `\ufffd` })
	if !halves || Strict([]byte(whole)) != nil {
		return false
	}
	return !MayHoldCall(payload) || cutFields.haveHalves(gjson.Parse(text))
}

// haveHalves reports whether v is an object, and each half of a surrogate pair in it is
// in the value of one of the fields.
func (t fieldTree) haveHalves(v gjson.Result) bool {
	ok := v.IsObject()
	v.ForEach(func(k, item gjson.Result) bool {
		fields, known := t[k.Str]
		switch {
		case !ok || HasHalf(k):
			ok = false
		case item.Type == gjson.String:
			ok = known || !HasHalf(item)
		case item.IsObject() && known:
			ok = fields.haveHalves(item)
		case item.IsArray() && known:
			item.ForEach(func(_, element gjson.Result) bool {
				ok = !HasHalf(element) || fields.haveHalves(element)
				return ok
			})
		default:
			ok = !HasHalf(item)
		}
		return ok
	})
	return ok
}

// HasHalf reports whether there is half of a surrogate pair in a value, which is strict
// JSON but for such halves.
func HasHalf(v gjson.Result) bool {
	if !strings.Contains(v.Raw, `\u`) {
		return false
	}
	_, halves := replaceHalves(v.Raw, func(rune) string { return "" })
	return halves
}

// Fragment is the text of a string that continues other text. Half of a surrogate pair
// becomes the three bytes that UTF-8 would have for it if it were a character, which
// [Fragments] joins with the other half.
func Fragment(v gjson.Result) string {
	if !HasHalf(v) {
		return v.Str
	}
	raw, _ := replaceHalves(v.Raw, func(unit rune) string {
		return string([]byte{halfLead, 0x80 | byte(unit>>6&0x3f), 0x80 | byte(unit&0x3f)})
	})
	return gjson.Parse(raw).Str
}

// halfLead is the first byte of a half in the text of a fragment.
const halfLead = 0xed

// halfAt is the half of a surrogate pair at i in the text of a fragment, 0 for none.
func halfAt(text string, i int) rune {
	if len(text)-i < 3 || text[i] != halfLead || text[i+1] < 0xa0 {
		return 0
	}
	return 0xd000 | rune(text[i+1]&0x3f)<<6 | rune(text[i+2]&0x3f)
}

// Fragments is text that is put together from fragments. The zero value is empty.
type Fragments struct {
	strings.Builder
	check *growing // of the text for Whole, nil before its first call
	size  int      // what check has of the text, in bytes
	half  string   // at the end of that, see [CutHalf]
	bad   bool     // an error of check
}

// AddEscaped adds the inside of a JSON string, and returns the text that it adds.
func (f *Fragments) AddEscaped(escaped []byte) string {
	length := f.Len()
	Unquote(&f.Builder, escaped)
	return f.Builder.String()[length:]
}

// Reset makes the text empty.
func (f *Fragments) Reset() { *f = Fragments{} }

// String is the text. Each half of a surrogate pair without the other is U+FFFD.
func (f *Fragments) String() string {
	return strings.ToValidUTF8(joinHalves(f.Builder.String()), "\uFFFD")
}

// Halved reports whether there is half of a surrogate pair without the other half.
func (f *Fragments) Halved() bool { return !utf8.ValidString(joinHalves(f.Builder.String())) }

// Whole reports whether the text is one strict JSON value. It reads only what was added
// since its last call. Fragments must not be cut within a character.
func (f *Fragments) Whole() bool {
	if f.check == nil {
		f.check = newGrowing()
	}
	var added string
	added, f.half = CutHalf(f.half + f.Builder.String()[f.size:])
	f.size = f.Len()
	f.bad = f.bad || f.check.add(strings.ToValidUTF8(added, "\uFFFD")) != nil
	return !f.bad && f.half == "" && f.check.whole()
}

// joinHalves puts characters in place of the pairs of halves in the text of fragments.
func joinHalves(text string) string {
	var b strings.Builder
	done := 0
	for i := 0; ; i++ {
		next := strings.IndexByte(text[i:], halfLead)
		if next < 0 {
			break
		}
		i += next
		r := utf16.DecodeRune(halfAt(text, i), halfAt(text, min(i+3, len(text))))
		if r == utf8.RuneError {
			continue
		}
		b.WriteString(text[done:i])
		b.WriteRune(r)
		done = i + 6
		i = done - 1
	}
	return b.String() + text[done:]
}

// CutHalf returns the text of a fragment, whose pairs of halves it joins, up to the
// first half of a pair at its end. Rest is that half: it goes before the next fragment.
func CutHalf(fragment string) (text, rest string) {
	text = joinHalves(fragment)
	if n := len(text) - 3; n >= 0 && halfAt(text, n) != 0 && halfAt(text, n) < 0xdc00 {
		return text[:n], text[n:]
	}
	return text, ""
}

// replaceHalves returns JSON in which each half of a surrogate pair is replaced, and
// reports whether there is one.
func replaceHalves(json string, with func(unit rune) string) (replaced string, halves bool) {
	var b strings.Builder
	done := 0
	for i := 0; i+1 < len(json); {
		switch unit := escapedUnit(json[i:]); {
		case json[i] != '\\':
			i++
		case !utf16.IsSurrogate(unit):
			i += 2
		case utf16.DecodeRune(unit, escapedUnit(json[i+6:])) != utf8.RuneError:
			i += 12
		default:
			b.WriteString(json[done:i])
			b.WriteString(with(unit))
			i += 6
			done, halves = i, true
		}
	}
	return b.String() + json[done:], halves
}

// escapedUnit returns the UTF-16 unit of the JSON escape (RFC 8259 section 7) at the
// beginning of a text, -1 where there is none.
func escapedUnit(text string) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
