package turn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// Requests that would need too much memory refuse the answer.
func TestReserve(t *testing.T) {
	for name, tt := range map[string]struct {
		size   int
		memory int
		want   intercept.Code // "" for none
	}{
		"small":            {size: 100, memory: 0},
		"large":            {size: 1 << 20, memory: 1 << 30},
		"without memory":   {size: 1 << 20, memory: 1 << 20, want: intercept.CodeOverloaded},
		"larger than ever": {size: maxRequestBytes + 1, memory: 1 << 30, want: intercept.CodeAnswerNotUnderstood},
	} {
		requests := []approvals.Request{{Arguments: json.RawMessage(strings.Repeat(" ", tt.size))}}
		_, refusal := reserve(requests, func(n int) bool { return n <= tt.memory })
		if (refusal == nil) != (tt.want == "") || (refusal != nil && refusal.Code != tt.want) {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}
