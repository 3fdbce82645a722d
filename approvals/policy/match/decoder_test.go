package match

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// slowMembers is [Members] with a new decoder.
func slowMembers(text []byte) (found []Member) {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		member := Member{Name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		member.Raw = string(value)
		found = append(found, member)
	}
	return found
}

// A decoder from the pool, and the reader of plain arguments, read like a new decoder, and does not change strings that were read before.
func FuzzMembers(f *testing.F) {
	f.Add(`{"a":[1,{"b":"x"}],"a":"\ud800","é":null}`, `{"other":"text that is longer than the first one is"}`)
	f.Add(`{"a":"b"`, `[`)
	f.Add("", "{\"\xff\":\"\xff\"} {}")
	f.Add(`{"command":"git log","timeout":60000,"a":-0,"b":true,"c":null,"d":""}`, "{ \"a\" :\t\"b\\n\\\"\" ,\r\n\"A\":1.5}")
	f.Add(`{"a":01,"":9007199254740993}`, `{"a":"b",}`)
	f.Add(`{"k":1,"K":2}`, `{"a":tru}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		got := Members(first)
		texts, _ := Strings(first)
		kept := slices.Clone(texts)
		for i := range kept {
			kept[i] = strings.Clone(kept[i])
		}
		doubts, numbers := Doubts(first)
		if d, n := doubtsOf(first); len(first) <= MaxArguments && (!slices.Equal(d, doubts) || !slices.Equal(n, numbers)) {
			t.Errorf("%q and %q, and as plain arguments %q and %q", d, n, doubts, numbers)
		}
		Members(second)
		Strings(second)
		Doubts(second)
		if want := slowMembers([]byte(first)); !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%q, want %q", got, want)
		}
		if !slices.Equal(texts, kept) {
			t.Errorf("the strings became %q, were %q", texts, kept)
		}
		if d, n := Doubts(first); !slices.Equal(d, doubts) || !slices.Equal(n, numbers) {
			t.Errorf("%q and %q, were %q and %q", d, n, doubts, numbers)
		}
	})
}

// Visible does not change a text of printable characters, and Shorten does not cut a short one.
func FuzzVisible(f *testing.F) {
	for _, text := range []string{"", "plain ~ text", "\x7f", "\u202e", "\xff", "é", "a\nb", "\ufffd"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		plain := utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
		if got := Visible(text); (got == text) != plain {
			t.Errorf("%q is visible as %q", text, got)
		}
		if n = min(max(n, 0), 1000); utf8.RuneCountInString(text) <= n && Shorten(text, n) != Visible(text) {
			t.Errorf("%q, shortened to %d: %q", text, n, Shorten(text, n))
		}
	})
}
