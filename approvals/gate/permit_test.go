package gate

import (
	"errors"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// An edit is for the reviewers whom rules ask about the edited call.
func TestEditsThatWidenACall(t *testing.T) {
	t.Parallel()
	when := time.Now()
	asked := approvals.Request{Rule: "p:1", Reviewers: []string{"dba", "ops"}}
	escalated := approvals.Request{Rule: "p:1", Reviewers: []string{"dba", "oncall"}}
	escalated.Details.Escalation = &approvals.Escalation{At: when, To: []string{"oncall"}, EscalatedAt: &when}
	several := approvals.Request{Demands: []approvals.Demand{
		{Rule: "p:1", Reviewers: []string{"dba"}, RequiredApprovals: 1},
		{Rule: "p:2", Reviewers: []string{"security"}, RequiredApprovals: 2},
	}}
	by := func(name string, groups ...string) approvals.Decision {
		return approvals.Decision{ReviewerID: name, ReviewerGroups: groups}
	}
	demand := func(rule string, required int, groups ...string) approvals.Demand {
		return approvals.Demand{Rule: rule, Reviewers: groups, RequiredApprovals: required}
	}
	for name, tt := range map[string]struct {
		r     approvals.Request
		who   approvals.Decision
		wants []approvals.Demand
		want  string // the kind of the error, "" for none
	}{
		"of what anybody decides":      {approvals.Request{}, by("dan", "dba"), []approvals.Demand{demand("p:9", 1, "security")}, "forbidden"},
		"anybody":                      {asked, by("dan", "dba"), []approvals.Demand{demand("p:9", 1)}, ""},
		"nothing":                      {asked, by("dan", "dba"), nil, ""},
		"the same groups":              {asked, by("dan", "dba"), []approvals.Demand{demand("p:9", 1, "ops", "dba")}, ""},
		"one of the groups":            {asked, by("olaf", "ops"), []approvals.Demand{demand("p:9", 1, "dba")}, "forbidden"},
		"as many others":               {asked, by("dan", "dba"), []approvals.Demand{demand("p:9", 1, "law", "security")}, "forbidden"},
		"another group":                {asked, by("dan", "dba"), []approvals.Demand{demand("p:9", 1, "security")}, "forbidden"},
		"the editor's other group":     {asked, by("dan", "dba", "security"), []approvals.Demand{demand("p:9", 1, "security")}, ""},
		"one of two wants":             {asked, by("dan", "dba"), []approvals.Demand{demand("p:1", 1, "dba", "ops"), demand("p:9", 1, "security")}, "forbidden"},
		"two approvals":                {asked, by("dan", "dba", "ops"), []approvals.Demand{demand("p:1", 2, "dba", "ops")}, "invalid"},
		"escalated, of the rule":       {escalated, by("olaf", "oncall"), []approvals.Demand{demand("p:1", 1, "dba")}, ""},
		"escalated, of another rule":   {escalated, by("olaf", "oncall"), []approvals.Demand{demand("p:9", 1, "dba")}, "forbidden"},
		"one of its demands":           {several, by("dan", "dba"), []approvals.Demand{demand("p:9", 1, "security")}, ""},
		"in the place of a member":     {asked, approvals.Decision{ReviewerID: "eve", OnBehalfOf: "sue", OnBehalfGroups: []string{"dba", "security"}}, []approvals.Demand{demand("p:9", 1, "security")}, ""},
		"a member, in another's place": {asked, approvals.Decision{ReviewerID: "sue", ReviewerGroups: []string{"security"}, OnBehalfOf: "dan", OnBehalfGroups: []string{"dba"}}, []approvals.Demand{demand("p:9", 1, "security")}, "forbidden"},
		"a member of all groups":       {asked, by("local", "*"), []approvals.Demand{demand("p:9", 1, "security")}, ""},
		"a member of all, two needed":  {asked, by("local", "*"), []approvals.Demand{demand("p:9", 2, "security")}, "invalid"},
	} {
		kind, err := "", permitEdit(&tt.r, &tt.who, tt.wants)
		switch {
		case errors.As(err, new(*approvals.ForbiddenError)):
			kind = "forbidden"
		case errors.As(err, new(*approvals.InvalidError)):
			kind = "invalid"
		}
		if kind != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
