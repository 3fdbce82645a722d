package app_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// Ann delegates to bob for her holiday: bob decides in her place until the end of the
// delegation, also after a restart.
func TestDelegationOutlivesARestart(t *testing.T) {
	t.Parallel()
	m := team{}
	var config app.Config
	w := build(t, "rules:\n  - ask: ['bash(*)']\n    reviewers: [finance]\n", callThenText,
		m.with("ann", "reviewer", "finance"), m.with("bob", "reviewer"), m.with("vic", "viewer"), m.with("ada", "admin"), restarting(&config))
	ann, bob := func() { w.console = w.as(m["ann"]) }, func() { w.console = w.as(m["bob"]) }
	ann()
	for _, to := range []string{"vic", "mallory", "ann"} {
		invalid := (*approvals.InvalidError)(nil)
		if _, err := w.console.Delegate(t.Context(), approvals.Delegation{To: to, Until: time.Now().Add(time.Hour)}); !errors.As(err, &invalid) {
			t.Errorf("ann delegates to %s: %v", to, err)
		}
	}
	_, err := w.as(m["ada"]).Delegate(t.Context(), approvals.Delegation{From: "ann", To: "ada", Until: time.Now().Add(time.Hour)})
	wantCode(t, err, problem.CodeForbidden) // an admin is in no group by being one
	d, err := w.console.Delegate(t.Context(), approvals.Delegation{To: "bob", Until: time.Now().Add(time.Hour), Note: "holiday"})
	if err != nil || d.From != "ann" || d.CreatedBy != "ann" {
		t.Fatalf("%+v, %v", d, err)
	}
	w.restart(config)
	bob()
	if list, err := w.console.Delegations(t.Context()); err != nil || len(list) != 1 || list[0].ID != d.ID {
		t.Errorf("in force are %+v, %v", list, err)
	}
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	w.decide(id, approve(id))
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
	if r := w.status(id, approvals.StatusApproved); r.Decisions[0].ReviewerID != "bob" || r.Decisions[0].OnBehalfOf != "ann" {
		t.Errorf("recorded is %+v", r.Decisions[0])
	}

	_, err = w.console.RevokeDelegation(t.Context(), d.ID)
	wantCode(t, err, problem.CodeForbidden)
	ann()
	if d, err := w.console.RevokeDelegation(t.Context(), d.ID); err != nil || d.RevokedBy != "ann" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := w.console.RevokeDelegation(t.Context(), "01ARZ3NDEKTSV4RRFFQ69G5FAV"); !errors.Is(err, approvals.ErrUnknownDelegation) {
		t.Errorf("an unknown delegation: %v", err)
	}
	w.post("/v1/chat/completions", streamedRequest, "X-Heldcall-Session", "another")
	next := w.pending(1)[0].ID
	_, err = w.as(m["bob"]).Decide(t.Context(), approve(next))
	wantCode(t, err, problem.CodeForbidden)
	if log := w.events(6); !strings.Contains(log, `"delegation_created"`) || !strings.Contains(log, `"delegation_revoked"`) || !strings.Contains(log, "holiday") {
		t.Errorf("the audit log is %s", log)
	}
}
