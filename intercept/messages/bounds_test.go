package messages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
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
