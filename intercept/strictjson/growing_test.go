package strictjson

import (
	"testing"
	"unicode/utf8"
)

// A text must agree with Strict however it is cut, and an error be noticed before the last fragment of
// a bad one.
func TestGrowing(t *testing.T) {
	for _, tt := range strictCases {
		for n := 1; n <= len(tt.in); n++ {
			g := newGrowing()
			var err error
			for rest := tt.in; rest != "" && err == nil; {
				k := min(n, len(rest))
				err = g.add(rest[:k])
				rest = rest[k:]
			}
			if (err == nil && g.whole()) != tt.ok {
				t.Errorf("%q in fragments of %d: got %v, whole %t, want ok=%v", tt.in, n, err, g.whole(), tt.ok)
			}
		}
	}
	if err := newGrowing().add(`{"a":"unfinished`); err != nil {
		t.Errorf("an unfinished text is not wrong yet: %v", err)
	}
}

// growingCases are texts with each kind of token, and with errors in and after them.
var growingCases = []string{
	"{\"a\":\"\xed\xa0\xbd\xed\xb8\x80\"}", "{\"a\":\"\xed\xa0\xbdx\"}", "{}\xed\xa0\xbd",
	`{"a":"\ud83d\ude00 \u00e9 \\ \" \/"}`, `{"a":"\ud83dx"}`, `{"a":"\ud83d\u0041"}`, `{"a":"\ude00"}`, `{"a":"\x"}`, `{"a":"\u00g0"}`,
	"{\"a\":\"\u00e9\u20ac\U0001f600\"}", "{\"a\":\"\xe2\x82x\"}", "{\"a\":\"\xc3\"}", "{\"a\":\"b\x01\"}",
	`{"a":"b","c":"d","a":"e"}`, `{"abc":1,"ab\u0063":2}`, `{"a" "b"}`, `{"a":"b" "c"}`,
	`{"a":120,"b":-0.50e+10,"c":0,"d":-0}`, `{"a":00}`, `{"a":-01}`, `{"a":1.}`, `{"a":1e}`, `{"a":12x}`, `{"a":1-2}`,
	" {  \"a\" \n:  [ true , false,null ] \r}\t ", `{ , }`, `{"a" , 1}`, `{"a":trux}`, `{"a":[1,2}`, `{"a":[{}]}}`,
	`[1]`, `"ab"`, `12 `, `12`, `-0`, `0 `, `1e5`, `-`, `tru`, `true`, `true x`, ` `,
}

func FuzzWhole(f *testing.F) {
	for _, in := range growingCases {
		f.Add(in, uint(0xaa))
	}
	f.Add("\"\xed\xe2\"\xed", uint(70))
	f.Fuzz(func(t *testing.T, in string, calls uint) {
		var text Fragments
		for i := 0; in != ""; i++ {
			_, n := utf8.DecodeRuneInString(in)
			switch {
			case halfAt(in, 0) != 0 && in[1]&0xc0 == 0x80 && in[2]&0xc0 == 0x80:
				n = 3
			case in[:n] == "\xed" || !utf8.ValidString(in[:n]):
				return // not from JSON
			}
			text.WriteString(in[:n])
			in = in[n:]
			if calls>>(i%64)&1 == 0 {
				continue
			}
			if want := Strict([]byte(text.String())) == nil; text.Whole() != want {
				t.Fatalf("%q: want %t", text.Builder.String(), want)
			}
		}
	})
}

// The decoder does not get what only continues a token: it would read the token again.
func TestGrowing_ReadsTokensOnce(t *testing.T) {
	for _, tt := range []struct{ before, more string }{
		{`{"a":"`, "wordx "},
		{`{"`, "name"},
		{`{"a":"`, `\`},
		{`{"a":"\u00`, `e9\u00`},
		{`{"a":"\ud83d`, `\ude00\ud83d`},
		{"{\"a\":\"\xe2", "\x82\xac\xe2"},
		{`{"a":1`, "234567"},
		{`{"a":0.`, "0"},
		{`{"a" `, "  \n"},
		{`{"a":1,`, " "},
		{`{"a":tr`, ""},
	} {
		g := newGrowing()
		add := func(text string) {
			if err := g.add(text); err != nil {
				t.Fatalf("%q, then %q: %v", tt.before, tt.more, err)
			}
		}
		add(tt.before)
		add(tt.more)
		reads := len(g.dec.UnreadBuffer())
		for range 100 {
			add(tt.more)
		}
		if n := len(g.dec.UnreadBuffer()); n != reads || len(g.tail) > 11 {
			t.Errorf("%q, then %q: %d bytes are read again, and %q", tt.before, tt.more, n, g.tail)
		}
	}
}
