package strictjson

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The check must agree with Strict however the text is cut, and notice before
// the last fragment of a bad object has gone on.
func TestArgumentsCheck(t *testing.T) {
	for _, tt := range strictCases {
		for n := 1; n <= len(tt.in); n++ {
			c := NewArgumentsCheck()
			var err error
			for rest := tt.in; rest != "" && err == nil; {
				k := min(n, len(rest))
				err = c.Add(rest[:k])
				rest = rest[k:]
			}
			if (err == nil) != tt.ok {
				t.Errorf("%q in fragments of %d: got %v, want ok=%v", tt.in, n, err, tt.ok)
			}
		}
	}
	for _, in := range []string{`[1]`, `"x"`, `12 `, `null`} {
		if err := NewArgumentsCheck().Add(in); err == nil {
			t.Errorf("%q accepted as an object", in)
		}
	}
	if err := NewArgumentsCheck().Add(`{"a":"unfinished`); err != nil {
		t.Errorf("an unfinished text is not wrong yet: %v", err)
	}
}

// argumentsSoFar is the definition of [ArgumentsCheck.Add]: it reads all of the text again.
// Text is that of all fragments without the half at their end.
func argumentsSoFar(text, half string) error {
	from := &feed{}
	from.WriteString(text)
	dec := jsontext.NewDecoder(from)
	for {
		tok, err := dec.ReadToken()
		switch {
		case errors.Is(err, errStarved):
			return nil
		case err != nil:
			return err
		case dec.StackDepth() == 0 && tok.Kind() != '}', dec.StackDepth() == 1 && tok.Kind() == '[':
			return errors.New("not an object")
		case dec.StackDepth() > 0:
		case !blank(dec.UnreadBuffer()) || !blank(from.Bytes()) || half != "":
			return errTrailing
		default:
			return nil
		}
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

func FuzzArgumentsCheck(f *testing.F) {
	for _, tt := range strictCases {
		f.Add([]byte(tt.in), 2)
	}
	for _, in := range growingCases {
		for n := 1; n < 4; n++ {
			f.Add([]byte(in), n)
		}
	}
	f.Add([]byte("{\"a\":\"\xed\xa0\xbd\xed\xb8\x80\"}"), 9)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if n < 1 {
			n = 1
		}
		c := NewArgumentsCheck()
		var text, added, half string
		for rest := in; len(rest) > 0; {
			k := min(n, len(rest))
			err := c.Add(string(rest[:k]))
			added, half = CutHalf(half + string(rest[:k]))
			text += added
			if want := argumentsSoFar(text, half); (err == nil) != (want == nil) {
				t.Fatalf("%q of %q in fragments of %d: got %v, want %v", text, in, n, err, want)
			}
			if err != nil {
				if trimmed := strings.TrimLeft(string(in), " \t\r\n"); strings.HasPrefix(trimmed, "{") && Strict(in) == nil {
					t.Fatalf("refused %q, which is strict", in)
				}
				return
			}
			rest = rest[k:]
		}
		if c.text.done && Strict([]byte(joinHalves(string(in)))) != nil {
			t.Fatalf("passed %q as complete, which is not strict", in)
		}
	})
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
		g := newGrowing(true)
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
