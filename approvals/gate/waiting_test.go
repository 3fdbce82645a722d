package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
)

func allowedByAny(context.Context, approvals.Request, string) bool { return true }

// A request that waits is decided by a grant once, whichever of the replicas learns of the grant first, and also by a
// process that starts after the one that wrote the grant has died.
func TestGrantDecidesWhatWaitsOnce(t *testing.T) {
	t.Parallel()
	s := approvalstest.OpenStore()
	book, _ := approvalstest.RunGrants(t, grants.Options{Store: s})
	asking := approvalstest.RunGate(t, gate.Options{Store: s}) // grants decide nothing here
	r := approvalstest.Rememberable("x")
	r.Principal = approvalstest.Grant("x").Principal
	id := approvalstest.Open(t, asking, r).Requests()[0].ID
	g, err := book.Add(t.Context(), approvalstest.Grant("x"))
	if err != nil {
		t.Fatal(err)
	}
	later := r
	newer := approvalstest.Open(t, asking, later).Requests()[0].ID
	for range 3 {
		kept := make(chan approvals.Grant, 1)
		kept <- g
		approvalstest.RunGate(t, gate.Options{Store: s.Reopen(), Grants: book, GrantsKept: kept, AllowedBy: allowedByAny})
	}
	approvalstest.Eventually(t, "the request is approved", func() bool {
		stored, err := s.GetRequest(t.Context(), id)
		return err == nil && stored.Request.Status == approvals.StatusApproved
	})
	stored, err := s.GetRequest(t.Context(), id)
	if d := stored.Request.Decisions; err != nil || len(d) != 1 || d[0].Rule != "grant "+g.ID || d[0].ReviewerID != "rita" || d[0].GrantID != "" {
		t.Errorf("%v: decisions %+v", err, d)
	}
	approvalstest.Eventually(t, "the decision is in the log", func() bool { return len(approvalstest.EventsOf(t, s, id)) == 2 })
	if stored, err := s.GetRequest(t.Context(), newer); err != nil || stored.Request.Status != approvals.StatusPending {
		t.Errorf("%v: a request after the grant, which people are asked about, is %s", err, stored.Request.Status)
	}
}

// An approval that nothing else settles ends after [approvals.ApprovalTTL].
func TestApprovalEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := approvalstest.OpenStore()
		g := approvalstest.RunGate(t, gate.Options{Store: s})
		r := approvalstest.Request("x")
		r.TurnID = "t1"
		id := decide(t, g, r)
		if r, err := g.Request(t.Context(), id); err != nil || r.Outcome == nil || r.Outcome.State != approvals.ApprovalWaiting {
			t.Fatalf("%+v, %v", r.Outcome, err)
		}
		time.Sleep(approvals.ApprovalTTL - time.Minute)
		synctest.Wait()
		if r, err := g.Request(t.Context(), id); err != nil || r.Outcome.State != approvals.ApprovalWaiting {
			t.Fatalf("%+v, %v", r.Outcome, err)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if r, err := g.Request(t.Context(), id); err != nil || r.NotRun() != "approved, not run: "+approvals.NotReleasedNotRepeated {
			t.Fatalf("%+v, %v", r.Outcome, err)
		}
		if events := approvalstest.EventTypes(approvalstest.EventsOf(t, s, id)); events[len(events)-1] != approvals.EventCallNotReleased {
			t.Errorf("events %v", events)
		}
		g.Results.Released(&r) // too late for the record
	})
}
