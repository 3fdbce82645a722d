package app_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const transferPolicy = `
default: allow
rules:
  - ask: ["bash(*)"]
    reviewers: [finance]
    required_approvals: 2
    timeout: 5m
`

// A rule's groups and its number of approvals hold from the agent's door to the
// bytes: nothing is released before the second member has approved.
func TestTwoOfTheGroupReleaseACall(t *testing.T) {
	t.Parallel()
	m := team{}
	w := build(t, transferPolicy, callThenText, m.with("ada", "admin"), m.with("ann", "reviewer", "finance"), m.with("fay", "reviewer", "finance", "oncall"), m.with("bob", "reviewer", "sales"))
	w.console = w.as(m["ada"])
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID

	for _, outsider := range []string{"bob", "ada"} {
		_, err := w.as(m[outsider]).Decide(t.Context(), approve(id))
		wantCode(t, err, problem.CodeForbidden)
		if !strings.Contains(err.Error(), "members of finance") {
			t.Errorf("%s gets %v, want who may approve", outsider, err)
		}
	}
	r, err := w.as(m["ann"]).Decide(t.Context(), approve(id))
	if err != nil || r.Status != approvals.StatusPending || len(r.Decisions) != 1 {
		t.Fatalf("after the first approval the request is %s with %d decisions, %v", r.Status, len(r.Decisions), err)
	}
	invalid := (*approvals.InvalidError)(nil)
	if _, err := w.as(m["ann"]).Decide(t.Context(), approve(id)); !errors.As(err, &invalid) {
		t.Errorf("ann approves twice: %v", err)
	}
	if shown := w.pending(1)[0]; shown.Decisions[0].ReviewerID != "ann" || shown.RequiredApprovals != 2 {
		t.Errorf("others see %+v of %d", shown.Decisions, shown.RequiredApprovals)
	}
	r, err = w.as(m["fay"]).Decide(t.Context(), approve(id))
	if err != nil || r.Status != approvals.StatusApproved || len(r.Decisions) != 2 {
		t.Fatalf("after the second approval the request is %s with %d decisions, %v", r.Status, len(r.Decisions), err)
	}
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
}

// One denial outweighs the approvals before it, also those of another group.
func TestADenialWinsOverApprovals(t *testing.T) {
	t.Parallel()
	for policy, c := range map[string]struct {
		model       func(*fakemodel.Request) fakemodel.Reply
		first, then string // groups
		secret      string // a part of the call
	}{
		transferPolicy:  {callThenText, "finance", "*", lsCall.ID},
		twoGroupsPolicy: {dumpAndSend, "dba", "security", "psql"},
	} {
		m := team{}
		w := build(t, policy, c.model, m.with("ann", "reviewer", c.first), m.with("fay", "reviewer", c.then))
		w.console = w.as(m["ann"])
		agent := w.post("/v1/chat/completions", streamedRequest)
		id := w.pending(1)[0].ID
		w.decide(id, approve(id))
		if r, err := w.as(m["fay"]).Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionDeny, Note: "not today"}); err != nil || r.Status != approvals.StatusDenied {
			t.Fatalf("the denial: %s, %v", r.Status, err)
		}
		if answer := agent.rest(); strings.Contains(answer, c.secret) || leaks(answer) != "" {
			t.Errorf("the agent got %q", answer)
		}
	}
}

// Reviewers do not approve requests of agents that act for them, unless the configuration
// permits it.
func TestSelfApprovalIsAPolicy(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		m := team{}
		w := build(t, askAll, callThenText, m.with("ann", "reviewer"), m.with("bob", "reviewer"), func(c *app.Config) {
			c.Console.SelfApproval = allowed
			c.Proxy.Clients = []app.Client{{Key: "k", User: "ann", Agent: "coder"}}
		})
		w.console = w.as(m["bob"])
		agent := w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer k")
		id := w.pending(1)[0].ID
		_, err := w.as(m["ann"]).Decide(t.Context(), approve(id))
		if allowed {
			if err != nil {
				t.Errorf("with self_approval ann gets %v", err)
			}
		} else {
			wantCode(t, err, problem.CodeForbidden)
			w.decide(id, approve(id))
		}
		if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
			t.Errorf("the agent got %q", answer)
		}
	}
}

// Who is asked later may decide later, also when heldcall was restarted in
// between.
func TestEscalationReachesOthersAfterARestart(t *testing.T) {
	t.Parallel()
	m := team{}
	var config app.Config
	w := build(t, `
rules:
  - ask: ["bash(*)"]
    reviewers: [finance]
    timeout: 5m
    escalate: {after: 2s, to: [oncall]}
`, callThenText, m.with("ann", "reviewer", "finance"), m.with("olaf", "reviewer", "oncall"), restarting(&config))
	w.console = w.as(m["ann"])
	w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	w.restart(config)
	w.console = w.as(m["ann"])
	deadline := time.Now().Add(soon)
	for {
		r, err := w.console.Request(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(r.Reviewers, "oncall") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no other group is asked: %q", r.Reviewers)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if r, err := w.as(m["olaf"]).Decide(t.Context(), approve(id)); err != nil || r.Status != approvals.StatusApproved {
		t.Errorf("oncall gets %s, %v", r.Status, err)
	}
}
