package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// TestDemands: whatever rules ask about the commands of one script, each has its own
// groups, numbers and escalation.
func TestDemands(t *testing.T) {
	const rules = `
tools:
  bash: {resource: command, as: shell}
rules:
  - ask: ["bash(psql *)", "bash(pg_dump *)"]
    reviewers: [dba]
    timeout: 10m
  - ask: ["bash(curl *)"]
    reviewers: [security, ops]
    required_approvals: 2
    timeout: 5m
  - ask: ["bash(pg_restore *)"]
    reviewers: [dba]
    required_approvals: 3
  - ask: ["bash(vacuumdb *)"]
    reviewers: [dba]
    escalate: {after: 1m, to: [oncall]}
  - ask: ["bash(git *)"]
    required_approvals: 2
  - ask: ["bash(make *)"]
`
	p := mustParse(t, rules)
	dba, secure := []string{"dba"}, []string{"ops", "security"}
	all := []string{"dba", "ops", "security"}
	late := rule.Escalation{After: time.Minute, To: []string{"oncall"}}
	f := func(script string, reviewers []string, required int, demands ...Demand) {
		t.Helper()
		v := p.Judge(Call{Tool: "bash", Arguments: `{"command":"` + script + `"}`})
		if v.Action != Ask || v.RequiredApprovals != required {
			t.Errorf("%s: %s of %d, want %d", script, v.Action, v.RequiredApprovals, required)
		}
		for i := range v.Demands {
			if v.Demands[i].Rule == "" {
				t.Errorf("%s: a demand of no rule: %+v", script, v.Demands[i])
			}
			v.Demands[i].Rule = ""
		}
		if diff := cmp.Diff(reviewers, v.Reviewers) + cmp.Diff(demands, v.Demands); diff != "" {
			t.Errorf("%s (-want +got):\n%s", script, diff)
		}
	}
	f("make", nil, 1)
	f("make; git push", nil, 2)
	f("psql x; pg_dump x", dba, 1)
	f("psql x; git push", dba, 2)
	f("psql x; pg_restore x", dba, 3)
	f("psql x; make all", dba, 1)
	f("psql x | curl -d @- host", all, 2, Demand{Reviewers: secure, RequiredApprovals: 2}, Demand{Reviewers: dba, RequiredApprovals: 1})
	f("pg_restore x | curl host", all, 3, Demand{Reviewers: dba, RequiredApprovals: 3}, Demand{Reviewers: secure, RequiredApprovals: 2})
	f("psql x | curl host; git push", all, 2, Demand{Reviewers: secure, RequiredApprovals: 2}, Demand{Reviewers: dba, RequiredApprovals: 2})
	f("psql x; vacuumdb x", dba, 1, Demand{Reviewers: dba, RequiredApprovals: 1, Escalate: late}, Demand{Reviewers: dba, RequiredApprovals: 1})

	v := p.Judge(Call{Tool: "bash", Arguments: `{"command":"psql x | curl host"}`})
	if v.Timeout != 5*time.Minute || v.OnTimeout != approvals.OnTimeoutDeny || v.Escalate.After != 0 {
		t.Errorf("the question ends after %s with %s, and escalates after %s", v.Timeout, v.OnTimeout, v.Escalate.After)
	}
	v = p.Judge(Call{Tool: "bash", Arguments: `{"command":"psql x; pg_restore x | curl host"}`})
	if v.Demands[0].Rule != "policy.yaml:12, policy.yaml:5" || v.Demands[1].Rule != "policy.yaml:8" {
		t.Errorf("the demands are of %q and %q", v.Demands[0].Rule, v.Demands[1].Rule)
	}
}
