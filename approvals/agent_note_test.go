package approvals

import (
	"testing"
	"time"
)

func TestAgentNote(t *testing.T) {
	since := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		state       AttachState
		status      Status
		want, after string
	}{
		{"", StatusPending, "", ""},
		{AgentAttached, StatusPending, "attached since 09:30: the agent waits for the decision", ""},
		{AgentAttached, StatusApproved, "", ""},
		{AgentDetached, StatusPending, "detached since 09:30: an approved call is released when the agent reconnects", ""},
		{AgentDetached, StatusApproved, "detached since 09:30: the call is released when the agent reconnects", "the call is released when the agent reconnects"},
		{AgentDetached, StatusDenied, "detached since 09:30: the agent gets the decision when it reconnects", ""},
		{AgentParked, StatusPending, "parked since 09:30: the agent goes on without the call; after an approval it may make the call once", ""},
		{AgentParked, StatusApproved, "parked since 09:30: the agent goes on, and may make the call once", "the agent goes on, and may make the call once"},
		{AgentParked, StatusExpired, "parked since 09:30: the agent goes on without the call", ""},
	} {
		r := Request{Status: tt.status}
		if tt.state != "" {
			r.Agent = &AgentState{State: tt.state, Since: since}
		}
		if got := r.AgentNote(func(at time.Time) string { return at.Format("15:04") }); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.state, tt.status, got, tt.want)
		}
		if got := r.AfterApproval(); got != tt.after {
			t.Errorf("%s, %s: after an approval %q, want %q", tt.state, tt.status, got, tt.after)
		}
		r.Details.Result = &CallResult{ReleasedAt: since}
		if got := r.AgentNote(time.Time.String) + r.AfterApproval(); got != "" {
			t.Errorf("%s, %s: after the release %q", tt.state, tt.status, got)
		}
	}
}
