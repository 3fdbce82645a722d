package messages

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/cost"
)

// The usage of a message grows by what each of its events names.
func TestUsageIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		field   func(i int) string
		refused bool
	}{
		"other names":   {func(i int) string { return fmt.Sprintf(`"k%d":"%s"`, i, strings.Repeat("a", 100)) }, true},
		"the same name": {func(i int) string { return fmt.Sprintf(`"output_tokens":%d`, i) }, false},
	} {
		var b strings.Builder
		for i := range 500 {
			b.WriteString(sent("message_delta", `"delta":{"stop_reason":null},"usage":{`+tt.field(i)+`}`))
		}
		p := newPlayer(t, request1, 1<<20, intercept.Limits{})
		err := p.Feed(started("msg_1") + b.String() + ended("end_turn"))
		if refused := err != nil && strings.Contains(err.Error(), "usage"); refused != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMergeUsage(t *testing.T) {
	for _, tt := range []struct{ usage, later, want string }{
		{``, `{"a":1, "b":null}`, `{"a":1, "b":null}`},
		{`{}`, `{}`, `{}`},
		{`{"a":1,"b":{"c":2},"d":3}`, `{"b":{"c":4},"e":5,"d":null,"f":null}`, `{"a":1,"b":{"c":4},"d":3,"e":5}`},
		{`{"a.b":1,"":2,"\u0063":3}`, `{"":4,"c":5,"a":{"b":6}}`, `{"a.b":1,"":4,"\u0063":5,"a":{"b":6}}`},
	} {
		equal(t, tt.usage+" and "+tt.later, mergeUsage(tt.usage, tt.later), tt.want)
	}
}

// Names of fields that grow count, and do not keep their events in memory.
func TestGrowingFieldsAreBounded(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for name, delta := range map[string]string{
		"texts":  `{"type":"x_delta","f%d` + long + `":"a"}`,
		"values": `{"type":"x_delta","f%d` + long + `":[]}`,
	} {
		for n, refused := range map[int]bool{5: false, 15: true} {
			p := newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 10_000})
			body := started("msg_1") + opened(0, `{"type":"text","text":""}`)
			for i := range n {
				body += added(0, fmt.Sprintf(delta, i))
			}
			if err := p.Feed(body + sent("content_block_stop", `"index":0`) + ended("end_turn")); (err != nil) != refused {
				t.Errorf("%d %s with long names: %v", n, name, err)
			}
		}
	}
}

func TestFieldsDoNotKeepTheirEvents(t *testing.T) {
	p := newPlayer(t, request1, 1<<20, intercept.Limits{MaxBytes: 2 << 20})
	p.Answer.Begin()
	long := strings.Repeat("a", 1<<20)
	before := cost.InUse()
	for i := range 40 {
		event := opened(i, `{"type":"text","text":""}`) + sent("content_block_delta", fmt.Sprintf(`"index":%d,"unknown":"%s","delta":{"type":"text_delta","text":"a"}`, i, long))
		if i == 0 {
			event = started("msg_1") + event
		}
		if _, err := p.Answer.Write([]byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	if grown := cost.InUse() - before; grown > 16<<20 {
		t.Errorf("40 events of 1 MiB with a letter of text keep %d bytes", grown)
	}
	runtime.KeepAlive(p)
}

// Fields are counted while they are read, and are not compared with all fields before them: an event may name any
// number.
func TestManyFieldsOfADelta(t *testing.T) {
	for kind, value := range map[string]string{"texts": `"a"`, "values": `[]`} {
		var fields strings.Builder
		for i := range maxFields + 1 {
			fmt.Fprintf(&fields, `,"f%d":%s`, i, value)
		}
		p := newPlayer(t, request1, 1<<20, intercept.Limits{})
		err := p.Feed(started("msg_1") + opened(0, `{"type":"text","text":""}`) + added(0, `{"type":"x_delta"`+fields.String()+`}`))
		if err == nil || !strings.Contains(err.Error(), "a delta has too many fields") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
