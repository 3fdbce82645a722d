package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/cost"
)

// Each fragment belongs to one call. Where clients disagree, the call is ambiguous.
func TestAssembler(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []string // the entries of tool_calls or, after "legacy ", a function_call, one in an event
		want  string   // id:name(arguments), with ? if it is ambiguous
	}{
		{"by number", []string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}`, `{"index":1,"id":"b","function":{"name":"y"}}`, `{"index":0,"function":{"arguments":"}"}}`}, "a:x({}) b:y()"},
		{"without numbers a name opens a call", []string{`{"function":{"name":"x","arguments":"{"}}`, `{"function":{"arguments":"}"}}`, `{"id":"b","function":{"name":"y"}}`}, ":x({})? b:y()?"},
		{"without numbers the same id and name continue", []string{`{"id":"a","function":{"name":"x","arguments":"{"}}`, `{"id":"a","function":{"name":"x","arguments":"}"}}`}, "a:x({})"},
		{"without numbers another name of one id", []string{`{"id":"a","function":{"name":"x"}}`, `{"id":"a","function":{"name":"y"}}`}, "a:x()?"},
		{"without numbers another id", []string{`{"id":"a","function":{"name":"x"}}`, `{"id":"b","function":{"arguments":"{}"}}`}, "a:x({})?"},
		{"a name after the id", []string{`{"index":0,"id":"a","function":{}}`, `{"index":0,"function":{"name":"x"}}`}, "a:x()"},
		{"another id of one number", []string{`{"index":0,"id":"a","function":{"name":"x"}}`, `{"index":0,"id":"b","function":{"name":"x"}}`}, "a:x()? b:x()?"},
		{"another number without a name", []string{`{"index":0,"id":"a","function":{"name":"x"}}`, `{"index":3,"function":{"arguments":"{}"}}`}, "a:x({})?"},
		{"a type after the opening", []string{`{"index":0,"id":"a"}`, `{"index":0,"type":"custom","custom":{"name":"x","input":"i"}}`}, "a:x(i)"},
		{"two types", []string{`{"index":0,"id":"a","function":{"name":"x"}}`, `{"index":0,"type":"custom","custom":{"input":"i"}}`}, "a:x(i)?"},
		{"text after an object", []string{`{"index":0,"id":"a","function":{"name":"x","arguments":{}}}`, `{"index":0,"function":{"arguments":"{}"}}`}, "a:x({}{})?"},
		{"a legacy call", []string{`legacy {"name":"x","arguments":"{"}`, `legacy {"arguments":"}"}`}, ":x({})"},
		{"a legacy call of two names", []string{`legacy {"name":"x"}`, `legacy {"name":"y"}`}, ":x()?"},
		{"a legacy call beside another", []string{`legacy {"name":"x"}`, `{"index":0,"id":"a","function":{"name":"y"}}`, `legacy {"arguments":"{}"}`}, ":x({}) a:y()"},
	} {
		var r assembler
		for _, raw := range tt.calls {
			field := `"tool_calls":[` + raw + `]`
			if legacy, ok := strings.CutPrefix(raw, "legacy "); ok {
				field = `"function_call":` + legacy
			}
			c, err := decodeChunk(`{"choices":[{"index":0,"delta":{` + field + `}}]}`)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			r.take(&c.choices[0].calls[0])
		}
		var got []string
		for _, c := range r.calls {
			got = append(got, fmt.Sprintf("%s:%s(%s)%s", c.id, c.name, c.args.String(), "?"[:min(len(c.Ambiguities), 1)]))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Fragments whose names differ ask, each, whether the arguments before them are whole. The
// memory for that grows with the arguments, not with their square.
func TestNamesCostNoMoreThanTheirArguments(t *testing.T) {
	cost.Linear(t, 100, func(n int) func() {
		p := newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 64 << 20})
		p.Answer.Begin()
		body := role + opening(0, "", "a", `["`) + strings.Repeat(event(`{"tool_calls":[{"index":0,"function":{"name":"b","arguments":"`+strings.Repeat("y", 1000)+`"}}]}`, "null"), n)
		return func() {
			if _, err := p.Answer.Write([]byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A fragment in a message is compared with the arguments before it only if it can repeat them.
func TestFragmentsInAMessageCostTheirLength(t *testing.T) {
	after := func(n int) func() {
		var r assembler
		opening := &fragment{place: inMessage, hasIndex: true, id: "id", name: "name", args: strings.Repeat("a", n)}
		r.take(opening)
		return func() {
			for range 2_000 {
				r.take(&fragment{place: inMessage, hasIndex: true, id: "id", name: "name"})
			}
			if r.take(opening); r.calls[0].args.Len() != n || len(r.calls) != 1 {
				t.Fatalf("a repetition of the call is added to it: %d calls, %d bytes", len(r.calls), r.calls[0].args.Len())
			}
		}
	}
	if ratio := cost.Ratio(after(1<<10), after(1<<18)); ratio > 50 {
		t.Errorf("after 256 times as many arguments, empty fragments take %.1f times as long", ratio)
	}
}

// Halves of a pair that came in two events are a character in a repetition.
func TestRepetitionOfHalves(t *testing.T) {
	var r assembler
	for _, args := range []string{"\xed\xa0\xbd", "\xed\xb8\x80", "\U0001F600"} {
		r.take(&fragment{place: inMessage, hasIndex: true, id: "id", name: "name", args: args})
	}
	if got := r.calls[0].args.String(); got != "\U0001F600" {
		t.Errorf("got %q", got)
	}
}
