package approvals

import (
	"fmt"
	"slices"
	"time"
)

// Restarted is the request about the same call that an agent had made before it was started again.
// It was undecided, and was cancelled with [CancelAgentRestarted].
type Restarted struct {
	RequestID string    `json:"request_id"`
	TurnID    string    `json:"turn_id"`
	SessionID string    `json:"session_id"`
	CreatedAt time.Time `json:"created_at"` // UTC
	Context   Context   `json:"context"`
}

// JoinRestarted makes the request ask in the place of another one.
func (r *Request) JoinRestarted(before *Request) {
	r.Details.Restarted = &Restarted{before.ID, before.TurnID, before.SessionID, before.CreatedAt, before.Context}
	r.Details.Flags = append(slices.Clip(r.Details.Flags), fmt.Sprintf("The agent was started again while request %s waited. It makes the same call again; this request takes the place of the other one.", before.ID))
}
