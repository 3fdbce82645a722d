package approvals_test

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
)

// What an edit makes of a call is for those to take whom rules ask about that.
func TestEditsThatWidenACall(t *testing.T) {
	when := time.Now()
	asked := approvals.Request{Rule: "p:1", Reviewers: []string{"dba", "ops"}}
	escalated := approvals.Request{Rule: "p:1", Reviewers: []string{"dba", "oncall"}}
	escalated.Details.Escalation = &approvals.Escalation{At: when, To: []string{"oncall"}, EscalatedAt: &when}
	several := approvalstest.Demanding()
	want := func(rule string, required int, groups ...string) approvals.Demand {
		return approvals.Demand{Rule: rule, Reviewers: groups, RequiredApprovals: required}
	}
	for name, tt := range map[string]struct {
		r     approvals.Request
		who   approvals.Decision
		wants []approvals.Demand
		says  string
	}{
		"of what anybody decides":       {approvals.Request{}, approvalstest.DecisionBy("dan", "", "dba"), []approvals.Demand{want("p:9", 1, "security")}, "forbidden"},
		"anybody":                       {asked, approvalstest.DecisionBy("dan", "", "dba"), []approvals.Demand{want("p:9", 1)}, ""},
		"nothing":                       {asked, approvalstest.DecisionBy("dan", "", "dba"), nil, ""},
		"the same groups":               {asked, approvalstest.DecisionBy("dan", "", "dba"), []approvals.Demand{want("p:9", 1, "ops", "dba")}, ""},
		"one of the groups":             {asked, approvalstest.DecisionBy("olaf", "", "ops"), []approvals.Demand{want("p:9", 1, "dba")}, "forbidden"},
		"as many others":                {asked, approvalstest.DecisionBy("dan", "", "dba"), []approvals.Demand{want("p:9", 1, "law", "security")}, "forbidden"},
		"another group":                 {asked, approvalstest.DecisionBy("dan", "", "dba"), []approvals.Demand{want("p:9", 1, "security")}, "forbidden"},
		"the editor's other group":      {asked, approvalstest.DecisionBy("dan", "", "dba", "security"), []approvals.Demand{want("p:9", 1, "security")}, ""},
		"one of two wants":              {asked, approvalstest.DecisionBy("dan", "", "dba"), []approvals.Demand{want("p:1", 1, "dba", "ops"), want("p:9", 1, "security")}, "forbidden"},
		"two approvals":                 {asked, approvalstest.DecisionBy("dan", "", "dba", "ops"), []approvals.Demand{want("p:1", 2, "dba", "ops")}, "invalid"},
		"escalated, of the rule":        {escalated, approvalstest.DecisionBy("olaf", "", "oncall"), []approvals.Demand{want("p:1", 1, "dba")}, ""},
		"escalated, of another rule":    {escalated, approvalstest.DecisionBy("olaf", "", "oncall"), []approvals.Demand{want("p:9", 1, "dba")}, "forbidden"},
		"one of its demands":            {several, approvalstest.DecisionBy("dan", "", "dba"), []approvals.Demand{want("p:9", 1, "security")}, ""},
		"in the place of a member":      {asked, approvals.Decision{ReviewerID: "eve", OnBehalfOf: "sue", OnBehalfGroups: []string{"dba", "security"}}, []approvals.Demand{want("p:9", 1, "security")}, ""},
		"a member, in another's place":  {asked, approvals.Decision{ReviewerID: "sue", ReviewerGroups: []string{"security"}, OnBehalfOf: "dan", OnBehalfGroups: []string{"dba"}}, []approvals.Demand{want("p:9", 1, "security")}, "forbidden"},
		"whoever is in all groups":      {asked, approvalstest.DecisionBy("local", "", "*"), []approvals.Demand{want("p:9", 1, "security")}, ""},
		"whoever is in all, two needed": {asked, approvalstest.DecisionBy("local", "", "*"), []approvals.Demand{want("p:9", 2, "security")}, "invalid"},
	} {
		if got := approvalstest.KindOf(tt.r.Widened(&tt.who, tt.wants)); got != tt.says {
			t.Errorf("%s: %q, want %q", name, got, tt.says)
		}
	}
}

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
			t.Errorf("%+v: one decides %t, it waits %t", tt.r, tt.r.OneDecides(), tt.r.Waits(0))
		}
	}
}

func TestLastEscalation(t *testing.T) {
	r := approvalstest.Demanding()
	if at := r.EscalatedAt(); !at.IsZero() {
		t.Errorf("without any it is at %s", at)
	}
	early := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	late := early.Add(time.Hour)
	for _, times := range [][2]*time.Time{{&early, &late}, {&late, &early}, {&late, nil}} {
		for i, at := range times {
			r.Demands[i].Escalation = &approvals.Escalation{EscalatedAt: at}
		}
		if at := r.EscalatedAt(); !at.Equal(late) {
			t.Errorf("the last is at %s", at)
		}
	}
}
