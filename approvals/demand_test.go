package approvals_test

import (
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
)

func TestOneDecides(t *testing.T) {
	for _, tt := range []struct {
		r    approvals.Request
		want bool
	}{
		{approvals.Request{}, true},
		{approvals.Request{RequiredApprovals: 1}, true},
		{approvals.Request{RequiredApprovals: 2}, false},
		{approvals.Request{RequiredApprovals: 1, Demands: approvalstest.Demanding().Demands}, false},
	} {
		if tt.r.OneDecides() != tt.want || !tt.r.Waits(0) {
			t.Errorf("%+v: one decides %t, demand 0 waits %t", tt.r, tt.r.OneDecides(), tt.r.Waits(0))
		}
	}
}

func TestLastEscalation(t *testing.T) {
	r := approvalstest.Demanding()
	if at := r.EscalatedAt(); !at.IsZero() {
		t.Errorf("without an escalation: %s", at)
	}
	early := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	late := early.Add(time.Hour)
	for _, times := range [][2]*time.Time{{&early, &late}, {&late, &early}, {&late, nil}} {
		for i, at := range times {
			r.Demands[i].Escalation = &approvals.Escalation{EscalatedAt: at}
		}
		if at := r.EscalatedAt(); !at.Equal(late) {
			t.Errorf("the last escalation is at %s", at)
		}
	}
}

func TestCountsFor(t *testing.T) {
	r := approvalstest.Demanding() // one approval of dba, two of security
	given := approvalstest.DecisionBy("sue", approvals.ActionApprove, "security")
	given.Fills = []int{1}
	r.Decisions = []approvals.Decision{given}
	if got, want := r.Missing(), "1 more approval of dba and 1 more approval of security"; got != want {
		t.Errorf("missing are %q, want %q", got, want)
	}
	if got, want := r.ApprovalCount(), "0 of 1 approvals of dba and 1 of 2 approvals of security"; got != want {
		t.Errorf("the count is %q, want %q", got, want)
	}
	delegate := approvalstest.DecisionBy("dan", approvals.ActionApprove, "dba")
	delegate.OnBehalfOf = "sue"
	alias := approvalstest.DecisionBy("sue-phone", approvals.ActionApprove, "security")
	alias.ReviewerUser = "SUE"
	for name, tt := range map[string]struct {
		by    approvals.Decision
		fills []int
		again string
	}{
		"another member":           {approvalstest.DecisionBy("sam", approvals.ActionApprove, "security"), []int{1}, ""},
		"a member of both groups":  {approvalstest.DecisionBy("bea", approvals.ActionApprove, "dba", "security"), []int{0, 1}, ""},
		"a member of all groups":   {approvalstest.DecisionBy("local", approvals.ActionApprove, approvals.EveryGroup), []int{0, 1}, ""},
		"a member of no group":     {approvalstest.DecisionBy("mia", approvals.ActionApprove, "sales"), nil, ""},
		"the same person":          {given, nil, "sue"},
		"the same person for both": {approvalstest.DecisionBy("sue", approvals.ActionApprove, "dba", "security"), []int{0}, "sue"},
		"the same user":            {alias, nil, "sue"},
		"in the place of sue":      {delegate, []int{0}, ""},
	} {
		fills, again := r.CountsFor(&tt.by, tt.by.ReviewerGroups)
		if !slices.Equal(fills, tt.fills) || again != tt.again {
			t.Errorf("%s: counts for %v, approved before by %q; want %v, %q", name, fills, again, tt.fills, tt.again)
		}
	}
}
