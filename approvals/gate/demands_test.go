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
	t.Parallel()
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

func TestNormalizeDemands(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	to := func(groups ...string) *approvals.Escalation { return &approvals.Escalation{At: at, To: groups} }
	given := []approvals.Demand{
		{Rule: "p:1", Reviewers: []string{"dba"}, Escalation: to("dba", "oncall")},
		{Rule: "p:2", Reviewers: []string{"security", "dba"}, RequiredApprovals: 2, Escalation: to("dba")},
	}
	r := approvals.Request{Status: approvals.StatusPending, Demands: given, RequiredApprovals: 9, Reviewers: []string{"x"}, Details: approvals.Details{Escalation: to("y")}}
	normalizeDemands(&r)
	if !slices.Equal(r.Reviewers, []string{"dba", "security"}) || r.RequiredApprovals != 2 || r.Details.Escalation != nil {
		t.Errorf("%d approvals of %q, escalation %+v", r.RequiredApprovals, r.Reviewers, r.Details.Escalation)
	}
	first, second := r.Demands[0], r.Demands[1]
	if first.RequiredApprovals != 1 || first.Escalation == nil || !slices.Equal(first.Escalation.To, []string{"oncall"}) || second.Escalation != nil {
		t.Errorf("demands are %+v and %+v", first, second)
	}
	if given[0].RequiredApprovals != 0 || given[1].Escalation == nil {
		t.Errorf("the given demands have changed: %+v", given)
	}
	if times := escalationTimes(&r); len(times) != 1 || !times[0].Equal(at) {
		t.Errorf("it escalates at %v", times)
	}
	r.Decisions = []approvals.Decision{{Action: approvals.ActionApprove, Fills: []int{0}}}
	if times := escalationTimes(&r); len(times) != 0 {
		t.Errorf("with its approval it escalates at %v", times)
	}
	alone := approvals.Request{RequiredApprovals: 2, Reviewers: []string{"x"}}
	normalizeDemands(&alone)
	if alone.RequiredApprovals != 2 || len(alone.Reviewers) != 1 {
		t.Errorf("without demands: %+v", alone)
	}
}
