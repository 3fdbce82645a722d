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

// RunState is the state of a run.
type RunState string

// The states of a run.
const (
	RunRunning RunState = "running"
	RunPaused  RunState = "paused"
	RunAborted RunState = "aborted"
	RunEnded   RunState = "ended" // until its agent sends another request
)

// Steered is the answer to a signal: the run after it.
type Steered struct {
	Run
	// Known is true if a request of the run is recorded. If it is false, the id may be
	// wrong, or no call of the run needed approval so far.
	Known bool `json:"known"`
}

// Run is one task of one agent.
type Run struct {
	ID          string    `json:"id"`
	State       RunState  `json:"state"`
	Principal   Principal `json:"principal"`
	SessionID   string    `json:"session_id"`
	ReviewerID  string    `json:"reviewer_id,omitempty"`  // of the last signal to this run
	UpdatedAt   time.Time `json:"updated_at"`             // when State changed, UTC
	ActiveAt    time.Time `json:"active_at,omitzero"`     // of the agent's last request, UTC; the record may be older
	LastOutcome Outcome   `json:"last_outcome,omitempty"` // of the latest call; "" if none has ended
	// AnsweredAt is when the agent got the last answer, UTC, if that has no calls and no request of the run is pending; else
	// zero. The process that serves the agent knows it. It is not in the record of the run.
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	// Signals are those in force by principal that apply to the run: State is never less
	// than theirs. They are not in the record of the run.
	Signals []PrincipalSignal `json:"signals,omitempty"`
}

// idleAfter is the time after an answer without calls from which a run is shown as idle.
const idleAfter = time.Minute

// IsIdle reports whether the run is shown as idle: its agent has got an answer without calls a minute ago or earlier. The state of
// the run is still running, and what follows from that is unchanged.
func (r *Run) IsIdle(now time.Time) bool {
	return r.State == RunRunning && !r.AnsweredAt.IsZero() && now.Sub(r.AnsweredAt) >= idleAfter
}

// folderLasts is how long a folder is a part of the workspace of a run.
const folderLasts = 24 * time.Hour

// RunFolder is a folder that a reviewer adds to the workspace of a run.
type RunFolder struct {
	Folder string `json:"folder"` // absolute path
}

// GrantFolder returns the grant that makes a folder a part of the workspace of the run, for 24 hours. user is the reviewer
// in principals.
func (r *Run) GrantFolder(folder, reviewer, user, channel string, now time.Time) Grant {
	end := now.Add(folderLasts).UTC()
	return Grant{
		Effect: GrantAllow, Scope: GrantSession, Principal: r.Principal, SessionID: r.SessionID, RunID: r.ID, Folder: folder,
		Patterns: []string{}, GrantedBy: reviewer, GranterUser: user, Channel: channel, ExpiresAt: &end,
	}
}

// LastActive returns when the run was last active as far as the record shows.
func (r *Run) LastActive() time.Time {
	if r.ActiveAt.After(r.UpdatedAt) {
		return r.ActiveAt
	}
	return r.UpdatedAt
}
