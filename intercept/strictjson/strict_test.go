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
