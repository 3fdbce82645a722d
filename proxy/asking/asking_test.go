package asking

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

func TestExcerpt(t *testing.T) {
	for _, n := range []int{0, 1, excerptLength, excerptLength + 1, 3 * excerptLength} {
		text := strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
		got := Excerpt(text)
		if whole := got == text; whole != (n <= excerptLength) || !utf8.ValidString(got) || len(got) > excerptLength+50 {
			t.Errorf("%d bytes become %d", n, len(got))
		}
		if n > excerptLength && !strings.Contains(got, "bytes left out") {
			t.Errorf("%d bytes are cut without a mark", n)
		}
	}
}

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
		refusal := Reserve(requests, func(n int) bool { return n <= tt.memory })
		if (refusal == nil) != (tt.want == "") || (refusal != nil && refusal.Code != tt.want) {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}
