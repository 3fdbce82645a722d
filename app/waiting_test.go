package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// byGrant waits until a request that waited is approved by a grant, in the name of the reviewer who gave it.
func (w *world) byGrant(id string, g *approvals.Grant) {
	w.t.Helper()
	r := w.status(id, approvals.StatusApproved)
	d, _ := r.FinalDecision()
	if rule := "grant " + g.ID; d.Action != approvals.ActionApprove || d.Rule != rule || d.Note != "decided by "+rule || d.ReviewerID != g.GrantedBy || d.Channel != g.Channel {
		w.t.Errorf("the decision is %+v, the grant %+v", d, g)
	}
	decisions := 0
	for _, e := range w.eventsOf(approvals.EventApprovalDecision) {
		if e.RequestID == id {
			decisions++
			if e.Rule != "grant "+g.ID || e.ReviewerID != g.GrantedBy {
				w.t.Errorf("the event is %+v", e)
			}
		}
	}
	if decisions != 1 {
		w.t.Errorf("%d decisions are in the log", decisions)
	}
}

// TestGrantDecidesWhatWaits: a grant decides the equal calls of its principals that wait already, however it is made.
func TestGrantDecidesWhatWaits(t *testing.T) {
	t.Parallel()
	t.Run("by a decision", func(t *testing.T) {
		t.Parallel()
		w := build(t, askBash, lint, twoClients)
		first, second, other := w.turn("ann-key"), w.turn("ann-key", "X-Heldcall-Session", "another"), w.turn("bob-key")
		held := w.pending(3)
		var ann []approvals.Request
		var bob approvals.Request
		for _, r := range held {
			if r.Principal.User == "ann" {
				ann = append(ann, r)
			} else {
				bob = r
			}
		}
		w.decide(ann[0].ID, approvals.Decision{Action: approvals.ActionAllowAlways, Scope: approvals.GrantUser})
		<-first
		<-second
		g := w.grants(1)[0]
		w.byGrant(ann[1].ID, &g)
		w.settled(ann[1].ID, approvals.ApprovalReleased)
		if left := w.pending(1)[0]; left.ID != bob.ID {
			t.Errorf("request %s of %s waits", left.ID, left.Principal.User)
		}
		w.decide(bob.ID, approved)
		<-other
	})
	t.Run("by hand", func(t *testing.T) {
		t.Parallel()
		w := build(t, askBash, lint, twoClients)
		answer := w.turn("ann-key")
		held := w.pending(1)[0]
		g, err := w.console.AddGrant(t.Context(), approvals.Grant{Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Principal: held.Principal, Patterns: []string{"bash(npm run *)"}})
		if err != nil {
			t.Fatal(err)
		}
		<-answer
		w.byGrant(held.ID, &g)
	})
	t.Run("by a trust window", func(t *testing.T) {
		t.Parallel()
		w := build(t, askInWorkspace, writes, twoClients)
		run := []string{"X-Heldcall-Session", "s", "X-Heldcall-Run", "r1"}
		first, second, elsewhere := w.turn("ann-key", run...), w.turn("ann-key", run...), w.turn("ann-key", "X-Heldcall-Session", "s2", "X-Heldcall-Run", "r1")
		var inRun []approvals.Request
		for _, r := range w.pending(3) {
			if r.SessionID == "s" {
				inRun = append(inRun, r)
			}
		}
		w.decide(inRun[0].ID, approvals.Decision{Action: approvals.ActionApprove, Window: "15m"})
		<-first
		<-second
		g := w.grants(1)[0]
		w.byGrant(inRun[1].ID, &g)
		w.approve(1)
		<-elsewhere
	})
}

// TestGrantDoesNotDecideWhatWaits: what a grant would not allow if it came now, and what people have to decide, waits on.
func TestGrantDoesNotDecideWhatWaits(t *testing.T) {
	t.Parallel()
	const tools = "default: ask\ntools:\n  bash: {resource: command, as: shell}\n"
	const rule = tools + "rules:\n  - ask: [\"bash(npm *)\"]\n    "
	allow := func(*approvals.Grant) {}
	for name, tt := range map[string]struct {
		policy string
		change func(*approvals.Grant)
	}{
		"critical":             {rule + "risk: critical\n", allow},
		"two approvals":        {rule + "required_approvals: 2\n", allow},
		"not to be remembered": {rule + "remember: false\n", allow},
		"a typed word":         {rule + "confirm: type\n", allow},
		"another command":      {tools, func(g *approvals.Grant) { g.Patterns = []string{"bash(npm test)"} }},
		"another principal":    {tools, func(g *approvals.Grant) { g.Principal.User = "bob" }},
		"a denial":             {tools, func(g *approvals.Grant) { g.Effect = approvals.GrantDeny }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, tt.policy, calledFor, twoClients)
			answer, later := w.command("r1", "npm run lint"), w.command("r2", "ls")
			var held, last approvals.Request
			for _, r := range w.pending(2) {
				if strings.Contains(string(r.Arguments), "npm") {
					held = r
				} else {
					last = r
				}
			}
			g := approvals.Grant{Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Principal: held.Principal, Patterns: []string{"bash(npm run *)"}}
			tt.change(&g)
			if _, err := w.console.AddGrant(t.Context(), g); err != nil {
				t.Log("the grant is refused:", err)
			}
			g = approvals.Grant{Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Principal: held.Principal, Patterns: []string{"bash(ls)"}}
			g, err := w.console.AddGrant(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			<-later
			w.byGrant(last.ID, &g) // after the grant before
			w.status(held.ID, approvals.StatusPending)
			w.decide(held.ID, approvals.Decision{Action: approvals.ActionDeny})
			<-answer
		})
	}
}

// waitFor returns the pending requests for some commands, in their order.
func (w *world) waitFor(commands ...string) []approvals.Request {
	w.t.Helper()
	held := make([]approvals.Request, len(commands))
	for _, r := range w.pending(len(commands)) {
		for i, command := range commands {
			if strings.Contains(string(r.Arguments), `"`+command+`"`) {
				held[i] = r
			}
		}
	}
	return held
}

// byPolicy waits until a changed policy has decided a request, once.
func (w *world) byPolicy(id string, status approvals.Status, rule string) {
	w.t.Helper()
	r := w.status(id, status)
	if d, _ := r.FinalDecision(); len(r.Decisions) != 1 || d.ReviewerID != approvals.ReviewerPolicy || d.Rule != rule {
		w.t.Errorf("the decisions are %+v", r.Decisions)
	}
	w.eventOf(approvals.EventApprovalDecision, id)
	decisions := slices.DeleteFunc(w.eventsOf(approvals.EventApprovalDecision), func(e approvals.Event) bool { return e.RequestID != id })
	if len(decisions) != 1 || decisions[0].ReviewerID != approvals.ReviewerPolicy {
		w.t.Errorf("the decisions in the log are %+v", decisions)
	}
}

// TestChangedPolicyDecidesWhatWaits: what a changed policy denies or allows waits no longer, and its agent learns that a rule
// decided.
func TestChangedPolicyDecidesWhatWaits(t *testing.T) {
	t.Parallel()
	w := build(t, askBash, calledFor, twoClients)
	removal, list, build := w.command("r1", "rm -rf build"), w.command("r2", "ls"), w.command("r3", "make")
	held := w.waitFor("rm -rf build", "ls", "make")
	writeFile(t, w.policyFile, askBash+"rules:\n  - deny: [\"bash(rm *)\"]\n  - allow: [\"bash(ls *)\"]\n")
	w.byPolicy(held[0].ID, approvals.StatusDenied, "policy.yaml:5")
	if answer := <-removal; !strings.Contains(answer, "Understood.") || leaks(answer) != "" {
		t.Errorf("got %s", answer)
	}
	w.byPolicy(held[1].ID, approvals.StatusApproved, "policy.yaml:6")
	if answer := <-list; !strings.Contains(answer, `ls`) {
		t.Errorf("got %s", answer)
	}
	for event, outcome := range map[approvals.EventType]approvals.Outcome{approvals.EventCallDenied: approvals.OutcomeDeniedByRule, approvals.EventCallReleased: approvals.OutcomeAllowedByRule} {
		if all := w.eventsOf(event); len(all) != 1 || all[0].Outcome != string(outcome) {
			t.Errorf("%s: %+v", event, all)
		}
	}
	w.status(held[2].ID, approvals.StatusPending)
	w.decide(held[2].ID, approved)
	<-build
}

// TestChangedPolicyLeavesToPeople: what a changed policy asks about, and what rules may not approve, waits on.
func TestChangedPolicyLeavesToPeople(t *testing.T) {
	t.Parallel()
	const allows = "rules:\n  - allow: [\"bash(make *)\", \"bash(ls *)\"]\n"
	for name, tt := range map[string]struct{ before, after string }{
		"critical":                 {askBash + "rules:\n  - ask: [\"bash(make *)\"]\n    risk: critical\n", askBash + allows},
		"two approvals":            {askBash + "rules:\n  - ask: [\"bash(make *)\"]\n    required_approvals: 2\n", askBash + allows},
		"a typed word":             {askBash + "rules:\n  - ask: [\"bash(make *)\"]\n    confirm: type\n", askBash + allows},
		"another command":          {askBash, askBash + "rules:\n  - allow: [\"bash(ls *)\"]\n  - deny: [\"bash(make install)\"]\n"},
		"an ask rule beside":       {askBash, askBash + allows + "  - ask: [\"bash(make *)\"]\n"},
		"other arguments than now": {askBash, askBash + allows + "  - rewrite: [\"bash(make *)\"]\n    set: {command: 'args.command + \" -n\"'}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, tt.before, calledFor, twoClients)
			answer := w.command("r1", "make")
			w.pending(1)
			list := w.command("r2", "ls")
			held := w.waitFor("make", "ls")
			writeFile(t, w.policyFile, tt.after)
			w.byPolicy(held[1].ID, approvals.StatusApproved, "policy.yaml:5") // after the one before
			<-list
			w.status(held[0].ID, approvals.StatusPending)
			w.decide(held[0].ID, approvals.Decision{Action: approvals.ActionDeny})
			<-answer
		})
	}
}
