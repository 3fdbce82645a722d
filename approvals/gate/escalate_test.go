package gate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
)

// escalating returns a request for finance that needs two approvals and escalates to oncall
// after an hour.
func escalating() approvals.Request {
	r := approvalstest.Request("x")
	r.Reviewers, r.RequiredApprovals = []string{"finance"}, 2
	r.ExpiresAt = time.Now().Add(2 * time.Hour)
	r.Details.Escalation = &approvals.Escalation{At: time.Now().Add(time.Hour).UTC(), To: []string{"oncall", "finance"}}
	return r
}

// An escalation whose time passes while no process runs happens once in the next one.
// Earlier approvals still count.
func TestEscalationOutlivesARestart(t *testing.T) {
	t.Parallel()
	first := approvalstest.OpenStore()
	ctx, stop := context.WithCancel(t.Context())
	before := gate.New(gate.Options{Store: first})
	ran := make(chan error, 1)
	go func() { ran <- before.Run(ctx) }()
	<-before.Ready()
	id := approvalstest.Open(t, before, escalating()).Requests()[0].ID
	decide := func(g *gate.Gate, d approvals.Decision) (approvals.Request, error) {
		d.RequestID = id
		return g.Decide(t.Context(), d)
	}
	if _, err := decide(before, approvalstest.DecisionBy("fay", approvals.ActionApprove, "finance")); err != nil {
		t.Fatal(err)
	}
	forbidden := (*approvals.ForbiddenError)(nil)
	if _, err := decide(before, approvalstest.DecisionBy("olaf", approvals.ActionApprove, "oncall")); !errors.As(err, &forbidden) {
		t.Fatalf("oncall decides before the escalation: %v", err)
	}
	stop()
	if err := errors.Join(<-ran, first.Close()); err != nil {
		t.Fatal(err)
	}

	s := first.Reopen()
	later := gate.Options{Store: s, Now: func() time.Time { return time.Now().Add(61 * time.Minute) }}
	g := approvalstest.RunGate(t, later)
	approvalstest.RunGate(t, later) // a replica, which does it or sees that it is done
	approvalstest.Eventually(t, "oncall may decide", func() bool { return len(approvalstest.EventsOf(t, s, id)) == 3 })
	r, err := decide(g, approvalstest.DecisionBy("olaf", approvals.ActionApprove, "oncall"))
	if err != nil || r.Status != approvals.StatusApproved || len(r.Decisions) != 2 || r.Details.Escalation.EscalatedAt == nil {
		t.Fatalf("%s with %d decisions, escalation %+v, %v", r.Status, len(r.Decisions), r.Details.Escalation, err)
	}
	if want := []string{"finance", "oncall"}; !slices.Equal(r.Reviewers, want) {
		t.Errorf("reviewers are %q, want %q", r.Reviewers, want)
	}
	want := []approvals.EventType{
		approvals.EventApprovalRequired, approvals.EventApprovalDecision, approvals.EventApprovalEscalated, approvals.EventApprovalDecision,
	}
	approvalstest.Eventually(t, "everything is recorded", func() bool { return len(approvalstest.EventsOf(t, s, id)) >= len(want) })
	if diff := cmp.Diff(want, approvalstest.EventTypes(approvalstest.EventsOf(t, s, id))); diff != "" {
		t.Error(diff)
	}
}

// A request that is decided before its escalation does not escalate.
func TestDecidedRequestsDoNotEscalate(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	g := approvalstest.RunGate(t, gate.Options{Store: s})
	var h *gate.Hold
	denial := approvalstest.DecisionBy("fay", approvals.ActionDeny, "finance")
	for early, lead := false, time.Second; !early; lead *= 4 { // until it is decided before, on a busy machine too
		r, due := escalating(), escalating()
		r.Details.Escalation.At = time.Now().Add(lead)
		due.Details.Escalation.At = r.Details.Escalation.At.Add(10 * time.Millisecond)
		h = approvalstest.Open(t, g, r, due)
		denial.RequestID = h.Requests()[0].ID
		if _, err := g.Decide(t.Context(), denial); err != nil {
			t.Fatal(err)
		}
		if early = time.Now().Before(r.Details.Escalation.At); !early {
			h.Detach()
		}
	}
	approvalstest.Eventually(t, "the other escalates", func() bool {
		r, err := g.Request(t.Context(), h.Requests()[1].ID)
		return err == nil && r.Details.Escalation.EscalatedAt != nil
	})
	decided, err := g.Request(t.Context(), denial.RequestID)
	if err != nil || decided.Details.Escalation.EscalatedAt != nil || len(approvalstest.EventsOf(t, s, denial.RequestID)) != 2 {
		t.Errorf("the decided request: %+v, %v", decided.Details.Escalation, err)
	}
	h.Detach()
}
