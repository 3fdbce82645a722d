package approvals

import (
	"testing"
	"time"
)

// The outcome is of approved calls only, and comes from the record where that has it.
func TestDescribeOutcome(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		change func(*Request)
		paused bool
		after  time.Duration
		state  ApprovalState
		reason string
	}{
		"pending":           {change: func(r *Request) { r.Status = StatusPending }},
		"denied":            {change: func(r *Request) { r.Status = StatusDenied }},
		"a result":          {change: func(r *Request) { r.Kind = KindResult }},
		"a question":        {change: func(r *Request) { r.Kind = KindDecision }},
		"an old record":     {after: ApprovalTTL},
		"an old release":    {change: func(r *Request) { r.Details.Result = &CallResult{ReleasedAt: at} }, after: ApprovalTTL, state: ApprovalReleased},
		"recorded":          {change: func(r *Request) { r.Outcome = &ApprovalOutcome{State: ApprovalNotReleased, Reason: "x"} }, paused: true, state: ApprovalNotReleased, reason: "x"},
		"without an agent":  {state: ApprovalWaiting, reason: "the agent has not got the call yet"},
		"of a paused run":   {paused: true, state: ApprovalWaiting, reason: "its run is paused"},
		"agent waits":       {change: func(r *Request) { r.Agent = &AgentState{State: AgentAttached} }, state: ApprovalWaiting, reason: "the agent gets the call with the other calls of the answer"},
		"agent is away":     {change: func(r *Request) { r.Agent = &AgentState{State: AgentDetached} }, after: 2 * ApprovalTTL, state: ApprovalWaiting, reason: "the call is released when the agent reconnects"},
		"agent was told so": {change: func(r *Request) { r.Agent = &AgentState{State: AgentParked} }, state: ApprovalWaiting, reason: "the agent goes on, and may make the call once"},
	} {
		r := Request{Kind: KindPermission, Status: StatusApproved, Decisions: []Decision{{DecidedAt: at}}}
		if tt.change != nil {
			tt.change(&r)
		}
		r.DescribeOutcome(tt.paused, at.Add(tt.after))
		var got ApprovalOutcome
		if r.Outcome != nil {
			got = *r.Outcome
		}
		if got.State != tt.state || got.Reason != tt.reason {
			t.Errorf("%s: the outcome is %+v, want %s %q", name, got, tt.state, tt.reason)
		}
	}
}
