package strictjson

import (
	"bytes"
	"iter"
	"strings"
)

// NamesCall is [MayHoldCall] for the names and types in strict JSON, so that the model's
// text is not suspected. All that [Suspect] refuses has such a name or type: a name with
// "call" in it, the name of an input beside "name", or a type that is no text, or a text
// with "call" or "tool_use" in it. Names and types with escapes are suspected if an
// escape could be an ASCII letter. FuzzNamesCall compares it with Suspect.
func NamesCall[T []byte | string](json T) bool {
	typed := false
	for {
		open := indexByte(json, '"')
		if between := json[:max(open, 0)]; typed && (indexByte(between, '{') >= 0 || indexByte(between, '[') >= 0) {
			return true // a type that is no text
		}
		if open < 0 {
			return false
		}
		text := json[open+1:]
		end := closingQuote(text)
		if end < 0 {
			return true // not strict after all
		}
		text, json = text[:end], text[end+1:]
		name := colonNext(json)
		if (name || typed) && MayHoldCall(text) && (typed || suspectName(string(text))) {
			return true
		}
		typed = name && len(text) == len("type") && strings.EqualFold(string(text), "type")
	}
}

// suspectName reports whether a name, with escapes, is one for which [Suspect] may refuse a
// value: input_tokens, the name of a number in most answers, is none.
func suspectName(name string) bool {
	return strings.IndexByte(name, '\\') >= 0 || isInput(name) || strings.Contains(strings.ToLower(name), "call")
}

// Strings yields the contents of each string of strict JSON, with escapes, and whether it is
// the name of a field.
func Strings(json string) iter.Seq2[string, bool] {
	return func(yield func(text string, name bool) bool) {
		for {
			open := strings.IndexByte(json, '"')
			end := closingQuote(json[open+1:])
			if open < 0 || end < 0 {
				return
			}
			text := json[open+1 : open+1+end]
			json = json[open+end+2:]
			if !yield(text, colonNext(json)) {
				return
			}
		}
	}
}

// indexByte returns the place of the first c in s, or -1.
func indexByte[T []byte | string](s T, c byte) int {
	switch s := any(s).(type) {
	case []byte:
		return bytes.IndexByte(s, c)
	case string:
		return strings.IndexByte(s, c)
	}
	return -1
}

// colonNext reports whether json begins with a colon, after blanks.
func colonNext[T []byte | string](json T) bool {
	for i := range len(json) {
		switch json[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return json[i] == ':'
		}
	}
	return false
}

// closingQuote returns the end of the strict JSON string in whose contents s begins: the
// first quote after an even number of backslashes. It is -1 if there is none.
func closingQuote[T []byte | string](s T) int {
	for from := 0; ; {
		i := indexByte(s[from:], '"')
		if i < 0 {
			return -1
		}
		i += from
		n := i
		for n > 0 && s[n-1] == '\\' {
			n--
		}
		if (i-n)%2 == 0 {
			return i
		}
		from = i + 1
	}
}
