package approvals

import (
	"strings"
	"testing"
)

func TestAgentNote(t *testing.T) {
	for _, tt := range []struct {
		agent  *AgentState
		status Status
		want   string
	}{
		{nil, StatusPending, ""},
		{&AgentState{State: AgentAttached}, StatusPending, ""},
		{&AgentState{State: AgentDetached}, StatusPending, "released when the agent reconnects"},
		{&AgentState{State: AgentDetached}, StatusApproved, "released when the agent reconnects"},
		{&AgentState{State: AgentDetached}, StatusDenied, "gets the decision"},
		{&AgentState{State: AgentParked}, StatusPending, "may make the call once"},
		{&AgentState{State: AgentParked}, StatusExpired, "goes on without the call"},
	} {
		r := Request{Agent: tt.agent, Status: tt.status}
		if got := r.AgentNote(); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%+v, %s: %q, want %q", tt.agent, tt.status, got, tt.want)
		}
	}
}
