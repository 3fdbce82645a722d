package strictjson

import (
	"strings"
	"testing"
)

var strictCases = []struct {
	in string
	ok bool
}{
	{`{"a":1}`, true},
	{` {"a":{"b":[1,"x\u00e9"]}} `, true},
	{`{}`, true},
	{`{"a":1,"a":2}`, false},
	{`{"a":1,"\u0061":2}`, false},
	{`{"x":{"a":1,"a":2}}`, false},
	{`{"a":1}{"b":2}`, false},
	{`{"a":1} x`, false},
	{"{\"a\":\"\xff\"}", false},
	{`{"a":"\ud800"}`, false},
	{`{"a":01}`, false},
	{`{a:1}`, false},
	{`{"a":NaN}`, false},
	{`{"a":1,}`, false},
	{`{"a":"` + "\n" + `"}`, false},
}

func TestStrict(t *testing.T) {
	for _, tt := range strictCases {
		if err := Strict([]byte(tt.in)); (err == nil) != tt.ok {
			t.Errorf("%q: got %v, want ok=%v", tt.in, err, tt.ok)
		}
	}
	for _, tt := range []string{`{"a":1`, ``, strings.Repeat("[", 20000)} {
		if Strict([]byte(tt)) == nil {
			t.Errorf("%.20q: accepted", tt)
		}
	}
}

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

func FuzzArgumentsCheck(f *testing.F) {
	for _, tt := range strictCases {
		f.Add([]byte(tt.in), 2)
	}
	f.Add([]byte("{\"a\":\"\xed\xa0\xbd\xed\xb8\x80\"}"), 9)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if n < 1 {
			n = 1
		}
		c := NewArgumentsCheck()
		for rest := in; len(rest) > 0; {
			k := min(n, len(rest))
			if c.Add(string(rest[:k])) != nil {
				if trimmed := strings.TrimLeft(string(in), " \t\r\n"); strings.HasPrefix(trimmed, "{") && Strict(in) == nil {
					t.Fatalf("refused %q, which is strict", in)
				}
				return
			}
			rest = rest[k:]
		}
		if c.done && Strict([]byte(joinHalves(string(in)))) != nil {
			t.Fatalf("passed %q as complete, which is not strict", in)
		}
	})
}

func TestDeep(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat("]}", n/2) }
	for text, want := range map[string]bool{
		nested(64): false, nested(66): true, "[" + nested(64) + "]": true,
		`{"a":"` + strings.Repeat("[", 100) + `"}`: false, strings.Repeat("[],", 100): false, "": false,
	} {
		if Deep([]byte(text)) != want {
			t.Errorf("%s: want %t", text, want)
		}
	}
}
