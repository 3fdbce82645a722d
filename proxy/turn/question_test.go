package turn

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

func TestExcerpt(t *testing.T) {
	for _, n := range []int{0, 1, excerptLength, excerptLength + 1, 3 * excerptLength} {
		text := strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
		got := excerpt(text)
		if whole := got == text; whole != (n <= excerptLength) || !utf8.ValidString(got) || len(got) > excerptLength+50 {
			t.Errorf("%d bytes become %d", n, len(got))
		}
		if n > excerptLength && !strings.Contains(got, "bytes left out") {
			t.Errorf("%d bytes are cut without a mark", n)
		}
	}
}

func TestTimeoutFor(t *testing.T) {
	for _, tt := range []struct {
		bound, rule, want time.Duration
		onTimeout         string
	}{
		{0, time.Hour, time.Hour, approvals.OnTimeoutApprove},
		{2 * time.Hour, time.Hour, time.Hour, approvals.OnTimeoutApprove},
		{time.Minute, time.Hour, time.Minute, approvals.OnTimeoutDeny},
	} {
		b := newBench(t, allowAll)
		b.Limits.MaxWait = tt.bound
		got, on := newReview(t, b).timeoutFor(&policy.Verdict{Timeout: tt.rule, OnTimeout: approvals.OnTimeoutApprove})
		if got != tt.want || on != tt.onTimeout {
			t.Errorf("bound %v, rule %v: %v, %s", tt.bound, tt.rule, got, on)
		}
	}
}
