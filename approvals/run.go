package approvals

import (
	"encoding/json"
	"time"
)

// SignalAction is what a signal does to a run.
type SignalAction string

// The actions of a signal.
const (
	SignalPause  SignalAction = "pause_run"
	SignalResume SignalAction = "resume_run"
	SignalAbort  SignalAction = "abort_run"
)

// Signal pauses, resumes or aborts a run. ReviewerID is set by the channel.
type Signal struct {
	RunID      string          `json:"run_id"`
	Action     SignalAction    `json:"action"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	ReviewerID string          `json:"reviewer_id"`
}

// RunState is the state of a run. A run without a signal is [RunRunning].
type RunState string

// The states of a run.
const (
	RunRunning RunState = "running"
	RunPaused  RunState = "paused"
	RunAborted RunState = "aborted"
)

// Steered is the answer to a signal: the run after it.
type Steered struct {
	Run
	// Known is true if a request of the run is recorded. If it is false, the id may be
	// wrong, or no call of the run needed approval so far.
	Known bool `json:"known"`
}

// Run is one task of one agent, with the last signal to it.
type Run struct {
	ID         string    `json:"id"`
	State      RunState  `json:"state"`
	Principal  Principal `json:"principal"`
	SessionID  string    `json:"session_id"`
	ReviewerID string    `json:"reviewer_id,omitempty"` // of the last signal
	UpdatedAt  time.Time `json:"updated_at"`
}
