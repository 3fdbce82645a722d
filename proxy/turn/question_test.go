package turn

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

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
		j := &judgedCall{verdict: policy.Verdict{Timeout: tt.rule, OnTimeout: approvals.OnTimeoutApprove}}
		q := newReview(t, b).newRequest(j, intercept.NewAnswer(b.prepared(t, chatRequest(false)).Parsed, intercept.Limits{}))
		if got := q.ExpiresAt.Sub(q.CreatedAt); got != tt.want || q.OnTimeout != tt.onTimeout {
			t.Errorf("bound %v, rule %v: %v, %s", tt.bound, tt.rule, got, q.OnTimeout)
		}
	}
}
