package approvals_test

import (
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
)

// The events of a request are the same each time, and a later state only adds some.
func TestRequestEvents(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	opened := approvalstest.Request("x")
	opened.ID, opened.CreatedAt, opened.ExpiresAt, opened.Status = "R", at, at.Add(time.Hour), approvals.StatusPending
	opened.Details.Escalation = &approvals.Escalation{At: at.Add(time.Minute), To: []string{"oncall"}}
	for name, tt := range map[string]struct {
		change func(*approvals.Request)
		want   []approvals.EventType // after approval_required
		last   string                // outcome
	}{
		"pending": {func(*approvals.Request) {}, nil, ""},
		"escalated": {func(r *approvals.Request) {
			e := *r.Details.Escalation
			e.EscalatedAt = &at
			r.Details.Escalation = &e
		}, []approvals.EventType{approvals.EventApprovalEscalated}, ""},
		"with its result": {func(r *approvals.Request) {
			r.Status, r.Details.Result = approvals.StatusApproved, &approvals.CallResult{ReceivedAt: &at}
		}, []approvals.EventType{approvals.EventCallResult}, ""},
		"only released": {func(r *approvals.Request) {
			r.Status, r.Details.Result = approvals.StatusApproved, &approvals.CallResult{ReleasedAt: at}
		}, nil, ""},
		"approved twice": {func(r *approvals.Request) {
			r.Status, r.Decisions = approvals.StatusApproved, []approvals.Decision{{Action: approvals.ActionApprove, DecidedAt: at}, {Action: approvals.ActionApprove, DecidedAt: at}}
		}, []approvals.EventType{approvals.EventApprovalDecision, approvals.EventApprovalDecision}, ""},
		"expired":   {func(r *approvals.Request) { r.Status = approvals.StatusExpired }, []approvals.EventType{approvals.EventApprovalExpired}, "expired"},
		"cancelled": {func(r *approvals.Request) { r.Status = approvals.StatusCancelled }, []approvals.EventType{approvals.EventApprovalCancelled}, "cancelled"},
		"aborted": {func(r *approvals.Request) {
			r.Status, r.Details.CancelReason = approvals.StatusCancelled, approvals.CancelRunAborted
		}, []approvals.EventType{approvals.EventApprovalCancelled}, "aborted"},
	} {
		after := opened
		tt.change(&after)
		added := opened.EventsUntil(&after)
		if types := approvalstest.EventTypes(added); !slices.Equal(types, tt.want) {
			t.Errorf("%s: adds %q, want %q", name, types, tt.want)
		}
		if len(added) > 0 && added[len(added)-1].Outcome != tt.last {
			t.Errorf("%s: the outcome is %q, want %q", name, added[len(added)-1].Outcome, tt.last)
		}
		ids := map[string]bool{}
		for i, e := range after.Events() {
			if ids[e.ID] || e.ID != after.Events()[i].ID || e.RequestID != "R" {
				t.Errorf("%s: event %d has the id %s of request %s", name, i, e.ID, e.RequestID)
			}
			ids[e.ID] = true
		}
		if first := after.RequiredEvent(); first.Type != approvals.EventApprovalRequired || string(first.Before) != string(opened.Arguments) {
			t.Errorf("%s: begins with %s of %s", name, first.Type, first.Before)
		}
	}
}
