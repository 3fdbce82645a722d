package strictjson

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// What models and agents send has to be quick: else nothing is wrong, and
// everything slow.
func TestQuickTakesWhatIsOrdinary(t *testing.T) {
	wide := make([]string, quickMembers)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"field_%02d":%d`, i, i)
	}
	for _, in := range []string{
		`{}`, `[]`, `""`, `null`, ` {"a" : [ 1 , -2.5e+3 , 0 , "x\n\u00e9\ud83d\ude00 wörd" , true , false , null , { } ] } ` + "\n",
		`{"same":{"a":1,"b":1},"other":{"a":1,"b":1}}`, `{"content_a":1,"content_b":2,"content":3,"":4}`,
		"{" + strings.Join(wide, ",") + "}", strings.Repeat(`{"a":[`, 60) + strings.Repeat(`]}`, 60),
	} {
		if !isQuick([]byte(in)) {
			t.Errorf("%.60s is left to the decoder", in)
		}
	}
}

func TestQuickGivesUp(t *testing.T) {
	for _, in := range []string{
		``, ` `, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `[1,]`, `[,]`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{1:1}`,
		`{"a":1}x`, `{"a":1}{}`, `tru`, `truex`, `nul`, `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `+1`, `0x1`, `NaN`, `"a`, `"\x"`, `"\ud800"`, `"\udc00"`,
		"\"\n\"", "\"\x00\"", "\"\xff\"", "\"\xc0\xaf\"", "\"abcdefgh\xed\xa0\x80\"", "\ufeff{}", `{"a":1,"a":2}`, `{"abcdefghi":1,"abcdefghi":2}`,
		`{"x":[{"b":1,"b":2}]}`, `{"a":1,"\u0061":2}`, strings.Repeat("[", quickDepth+1) + strings.Repeat("]", quickDepth+1),
	} {
		if isQuick([]byte(in)) {
			t.Errorf("%.60q is taken", in)
		}
	}
}

// TestSpecial puts each byte at each place of a word, among bytes that are just
// not special.
func TestSpecial(t *testing.T) {
	for c := range 256 {
		is := c < 0x20 || c >= 0x80 || c == '"' || c == '\\'
		for at := range 8 {
			for _, fill := range []byte(" !#[]\x7f") {
				b := bytes.Repeat([]byte{fill}, 8)
				b[at] = byte(c)
				want := 8
				if is {
					want = at
				}
				if got := bits.TrailingZeros64(special(binary.LittleEndian.Uint64(b))) / 8; got != want {
					t.Fatalf("%q: got %d, want %d", b, got, want)
				}
			}
		}
	}
}

// FuzzQuick holds the quick reader against the decoder: what it takes is strict,
// its fields are those that the decoder finds, and a mark that it has not found is
// no string below the top level.
func FuzzQuick(f *testing.F) {
	for _, tt := range strictCases {
		f.Add([]byte(tt.in))
	}
	f.Add([]byte(`{"a":[{"type":"mark"}],"mark":{"b":"m\u0061rk","n":-1.5e3},"é":"\ud83d\ude00"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		const mark = "mark"
		type field struct{ name, value string }
		var fields []field
		q := quick{b: in, marks: []string{mark}}
		if !q.whole(func(name []byte, at Span) { fields = append(fields, field{string(name), string(in[at.Start:at.End])}) }) {
			return
		}
		if !jsontext.Value(in).IsValid() {
			t.Fatalf("took %q", in)
		}
		dec := jsontext.NewDecoder(strings.NewReader(string(in)))
		tok, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		if tok.Kind() != '{' {
			if len(fields) > 0 {
				t.Fatalf("%q has fields", in)
			}
			return
		}
		for i := 0; dec.PeekKind() == '"'; i++ {
			tok, _ := dec.ReadToken()
			name := tok.String()
			value, err := dec.ReadValue()
			if err != nil || i >= len(fields) || fields[i] != (field{name, string(value)}) {
				t.Fatalf("%q: field %d is %q, the decoder reads %q %q (%v)", in, i, fields, name, value, err)
			}
			if q.found == 0 && holds(value, mark) {
				t.Fatalf("%q holds the mark", in)
			}
		}
	})
}

// holds reports whether a string that is mark after unescaping is anywhere in a value.
func holds(value jsontext.Value, mark string) bool {
	dec := jsontext.NewDecoder(strings.NewReader(string(value)))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if tok.Kind() == '"' && tok.String() == mark {
			return true
		}
	}
}

func BenchmarkStrict(b *testing.B) {
	text := strings.Repeat(`\tif err := read(path); err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", path, err) // the file may be gone: café\n\t}\n`, 40)
	message := `{"role":"user","content":"` + text + `"}`
	for _, bench := range []struct{ name, in string }{
		{"event", `{"type":"response.output_text.delta","sequence_number":41,"output_index":0,"item_id":"msg_1","delta":" wörd","logprobs":[]}`},
		{"prompt", `{"model":"m","messages":[` + strings.TrimSuffix(strings.Repeat(message+",", 60), ",") + `]}`},
	} {
		in := []byte(bench.in)
		for name, strict := range map[string]func([]byte) bool{
			"/quick": isQuick, "/decoder": func(b []byte) bool { return jsontext.Value(b).IsValid() },
		} {
			b.Run(bench.name+name, func(b *testing.B) {
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				for b.Loop() {
					if !strict(in) {
						b.Fatal("refused")
					}
				}
			})
		}
	}
}
