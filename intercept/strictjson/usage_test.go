package strictjson

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/cost"
)

func TestAddUsage(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{``, `{"total_tokens":3}`, `{"total_tokens":3}`},
		{`null`, `{"total_tokens":3}`, `{"total_tokens":3}`},
		{`{"total_tokens":3}`, `null`, `{"total_tokens":3}`},
		{`{"total_tokens":3,"d":{"cached":1}}`, `{"total_tokens":4,"d":{"cached":2,"audio":5}}`, `{"total_tokens":7,"d":{"cached":3,"audio":5}}`},
		{`{"cost":0.5,"tier":"a"}`, `{"cost":0.25,"tier":"b"}`, `{"cost":0.75,"tier":"a"}`},
		{`{"a.b":1}`, `{"a.b":2}`, `{"a.b":3}`},
		{`{"total_tokens": 3}`, ``, `{"total_tokens": 3}`},
		{`{"a":1,"b":null,"\u0063":3}`, `{"d":null,"c":4,"b":{"e":1},"a":"x","":5}`, `{"a":1,"b":{"e":1},"\u0063":7,"d":null,"":5}`},
		{`5`, `{"a":1}`, `5`},
		{`[1]`, `{"a":1}`, `[1]`},
		{`{"n":9007199254740993}`, `{"n":1}`, `{"n":9007199254740994}`},
	}
	for _, tt := range tests {
		if got := string(AddUsage([]byte(tt.a), []byte(tt.b))); got != tt.want {
			t.Errorf("%s + %s: got %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

// A usage may have any number of fields: each is read once.
func TestAddUsageOfManyFields(t *testing.T) {
	var fields strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&fields, `,"f%d":1`, i)
	}
	usage, got := "{"+fields.String()[1:]+"}", ""
	if n := cost.Allocated(func() { got = string(AddUsage([]byte(usage), []byte(usage))) }); n > 100*uint64(len(usage)) {
		t.Errorf("%d bytes of fields allocate %d", len(usage), n)
	}
	if want := strings.ReplaceAll(usage, ":1", ":2"); got != want {
		t.Errorf("got %.100s", got)
	}
}

// Objects that nest deeper than any usage does are kept as they are.
func TestAddUsageOfDeepFields(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 2_000) + `{"b":1,"c":"` + strings.Repeat("x", 1<<20) + `"}` + strings.Repeat("}", 2_000)
	got := ""
	if n := cost.Allocated(func() { got = string(AddUsage([]byte(`{"n":1,"a":`+deep+`}`), []byte(`{"n":2,"a":`+deep+`}`))) }); n > 1000*uint64(len(deep)) {
		t.Errorf("%d bytes of objects in objects allocate %d", len(deep), n)
	}
	if got != `{"n":3,"a":`+deep+`}` {
		t.Errorf("got %.100s", got)
	}
}
