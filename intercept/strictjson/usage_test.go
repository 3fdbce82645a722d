package strictjson

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
	usage := "{" + fields.String()[1:] + "}"
	began := time.Now()
	got := string(AddUsage([]byte(usage), []byte(usage)))
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("20,000 fields took %v", d)
	}
	if want := strings.ReplaceAll(usage, ":1", ":2"); got != want {
		t.Errorf("got %.100s", got)
	}
}

// Objects that nest deeper than any usage does are kept as they are.
func TestAddUsageOfDeepFields(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 2_000) + `{"b":1,"c":"` + strings.Repeat("x", 1<<20) + `"}` + strings.Repeat("}", 2_000)
	began := time.Now()
	got := string(AddUsage([]byte(`{"n":1,"a":`+deep+`}`), []byte(`{"n":2,"a":`+deep+`}`)))
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("2,000 levels took %v", d)
	}
	if got != `{"n":3,"a":`+deep+`}` {
		t.Errorf("got %.100s", got)
	}
}
