package gate

import (
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// An escalation happens at its planned time, even if the clock has gone back since. One
// that is planned for later does not happen.
func TestEscalationByTheTimeItWasPlannedFor(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		now, due time.Time
		want     bool
	}{
		"on time":                  {at, at, true},
		"the clock has gone back":  {at.Add(-time.Second), at, true},
		"planned for another time": {at.Add(-time.Second), at.Add(-time.Second), false},
	} {
		r := approvals.Request{Status: approvals.StatusPending, Reviewers: []string{"dba"}, RequiredApprovals: 1, Details: approvals.Details{Escalation: &approvals.Escalation{At: at, To: []string{"oncall"}}}}
		if did := escalate(&r, c.now, c.due); did != c.want || slices.Contains(r.Reviewers, "oncall") != c.want {
			t.Errorf("%s: %t, reviewers are %q", name, did, r.Reviewers)
		}
	}
}
