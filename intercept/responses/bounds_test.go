package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// Items of any kind count against the limit where they begin and where they are complete.
func TestItemsAreBounded(t *testing.T) {
	long := strings.Repeat("a", 1000)
	events := func(typ, text string) string {
		var b strings.Builder
		for i := range 20 {
			b.WriteString(data(fmt.Sprintf(`{"type":"response.output_item.%s","sequence_number":%d,"output_index":%d,"item":%s}`, typ, i+1, i, message(fmt.Sprint("m", i), text))))
		}
		return b.String()
	}
	for name, tt := range map[string]struct {
		body    string
		refused bool
	}{
		"that begin":                {events("added", long), true},
		"that are complete":         {events("done", long), true},
		"that begin without a text": {events("added", ""), false},
	} {
		p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{MaxBytes: 10_000})
		err := p.Feed(begun() + tt.body)
		if refused := err != nil && strings.Contains(err.Error(), "larger than"); refused != tt.refused {
			t.Errorf("items %s: %v", name, err)
		}
	}
}
