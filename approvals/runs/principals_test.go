package runs

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// An abort by principal is stronger than a pause, and a signal to a run does not weaken it.
func TestEffectiveState(t *testing.T) {
	t.Parallel()
	who := approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}
	const pause, resume, abort = approvals.SignalPause, approvals.SignalResume, approvals.SignalAbort
	for _, c := range []struct {
		run                 approvals.RunState
		agent, user, tenant approvals.SignalAction
		want, shown         approvals.RunState
		signals             int
	}{
		{approvals.RunRunning, "", "", "", approvals.RunRunning, approvals.RunRunning, 0},
		{approvals.RunPaused, "", "", "", approvals.RunPaused, approvals.RunPaused, 0},
		{approvals.RunEnded, "", "", "", approvals.RunRunning, approvals.RunEnded, 0},
		{approvals.RunRunning, pause, "", "", approvals.RunPaused, approvals.RunPaused, 1},
		{approvals.RunRunning, resume, pause, "", approvals.RunPaused, approvals.RunPaused, 1},
		{approvals.RunRunning, resume, resume, resume, approvals.RunRunning, approvals.RunRunning, 0},
		{approvals.RunRunning, pause, abort, pause, approvals.RunAborted, approvals.RunAborted, 3},
		{approvals.RunPaused, "", "", abort, approvals.RunAborted, approvals.RunAborted, 1},
		{approvals.RunPaused, "", "", resume, approvals.RunPaused, approvals.RunPaused, 0},
		{approvals.RunAborted, pause, "", "", approvals.RunAborted, approvals.RunAborted, 1},
		{approvals.RunEnded, "", pause, "", approvals.RunPaused, approvals.RunEnded, 1},
	} {
		r := newTestRuns(&memoryRuns{}).states
		r.apply(approvals.Run{ID: "r", State: c.run, Principal: who, UpdatedAt: opened})
		for principal, action := range map[approvals.Principal]approvals.SignalAction{
			{Agent: who.Agent}: c.agent, {User: who.User}: c.user, {Tenant: who.Tenant}: c.tenant, {Tenant: "other"}: abort,
		} {
			if action != "" {
				r.principals.apply(approvals.PrincipalSignal{Principal: principal, Action: action, Since: opened})
			}
		}
		state, _ := r.state("r", who)
		run, _ := r.find("r")
		if shown := r.effective(run); state != c.want || shown.State != c.shown || len(shown.Signals) != c.signals {
			t.Errorf("%+v: %s, shown as %+v", c, state, shown)
		}
	}
}

// An older signal does not replace a newer one, and the number of those in force is exact.
func TestPrincipalsApply(t *testing.T) {
	t.Parallel()
	p, who := newPrincipals(), approvals.Principal{User: "ann"}
	for _, step := range []struct {
		action approvals.SignalAction
		after  time.Duration
		want   approvals.RunState
	}{
		{approvals.SignalPause, 2, approvals.RunPaused},
		{approvals.SignalResume, 1, approvals.RunPaused},
		{approvals.SignalPause, 3, approvals.RunPaused},
		{approvals.SignalAbort, 4, approvals.RunAborted},
		{approvals.SignalResume, 5, approvals.RunRunning},
		{approvals.SignalAbort, 4, approvals.RunRunning},
	} {
		p.apply(approvals.PrincipalSignal{Principal: who, Action: step.action, Since: opened.Add(step.after)})
		state, _ := p.state(who)
		if state != step.want || p.any() != step.want.Stopped() || len(p.list()) != oneIf(step.want.Stopped()) {
			t.Errorf("%+v: %s", step, state)
		}
	}
}
