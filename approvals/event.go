package approvals

import (
	"encoding/json"
	"time"
)

// EventType names what happened.
type EventType string

// The types of event.
const (
	EventApprovalRequired  EventType = "approval_required"
	EventApprovalDecision  EventType = "approval_decision"
	EventApprovalEscalated EventType = "approval_escalated" // more groups may decide
	EventApprovalExpired   EventType = "approval_expired"
	EventApprovalCancelled EventType = "approval_cancelled"
	EventCallAllowed       EventType = "call_allowed"      // by policy, without a request
	EventCallDenied        EventType = "call_denied"       // by rule, person or time-out
	EventCallModified      EventType = "call_modified"     // arguments changed before release
	EventCallReleased      EventType = "call_released"     // recorded before the bytes leave
	EventCallNotReleased   EventType = "call_not_released" // an approved call that the agent did not get; Note has the reason
	EventDenialTold        EventType = "denial_told"       // the model has been sent the denial
	EventQuestionAnswered  EventType = "question_answered" // the model gets an answer of a person, or its own default; Note has the text for the model
	EventSecretUsed        EventType = "secret_used"       // a released call has the values of secrets; Note has their names
	EventCallResult        EventType = "call_result"       // the agent has reported the result of an approved call
	EventResultDenied      EventType = "result_denied"     // the model reads a text in place of the result of a tool
	EventResultRedacted    EventType = "result_redacted"   // or the result without some parts
	EventGrantCreated      EventType = "grant_created"
	EventGrantRevoked      EventType = "grant_revoked"
	EventWindowOpened      EventType = "window_opened"   // a trust window
	EventWindowClosed      EventType = "window_closed"   // by a reviewer, or at its end
	EventWorkspaceAdded    EventType = "workspace_added" // a folder to the workspace of a run
	EventRunPaused         EventType = "run_paused"
	EventRunResumed        EventType = "run_resumed"
	EventRunAborted        EventType = "run_aborted"
	EventRunEnded          EventType = "run_ended" // its agent is silent, or has begun another run
	EventDelegationCreated EventType = "delegation_created"
	EventDelegationRevoked EventType = "delegation_revoked"
	EventTurnDetached      EventType = "turn_detached"      // its agent's connection has ended
	EventTurnReattached    EventType = "turn_reattached"    // an agent has come back
	EventTurnParked        EventType = "turn_parked"        // its agent was answered with a notice
	EventTurnReady         EventType = "turn_ready"         // it has no agent, and its requests are final
	EventCheckpoint        EventType = "checkpoint"         // a replica has signed the end of the log
	EventPolicyChanged     EventType = "policy_changed"     // the content of a policy file differs from the last recorded one
	EventReviewersChanged  EventType = "reviewers_changed"  // the configured reviewers differ from the last recorded ones
	EventPasskeyRegistered EventType = "passkey_registered" // Passkey is its id, Note its name
	EventPasskeyRevoked    EventType = "passkey_revoked"    // the same
	EventLossAccepted      EventType = "loss_accepted"      // the operator has started heldcall with a damaged state; Note has the damage
)

// Event is one entry of the audit log. Seq, PrevHash and Hash are set when it
// is appended: Hash covers every other field, so the entries form a chain.
type Event struct {
	ID         string          `json:"id"` // ULID
	Type       EventType       `json:"type"`
	Time       time.Time       `json:"time"` // UTC
	Tenant     string          `json:"tenant"`
	Principal  Principal       `json:"principal"`
	RequestID  string          `json:"request_id,omitempty"`
	Kind       Kind            `json:"kind,omitempty"` // of the request, where it is not about a call
	SessionID  string          `json:"session_id,omitempty"`
	RunID      string          `json:"run_id,omitempty"`
	Tainted    bool            `json:"tainted,omitempty"` // the run has read a result that the policy does not trust
	TurnID     string          `json:"turn_id,omitempty"`
	Dialect    string          `json:"dialect,omitempty"`
	Model      string          `json:"model,omitempty"`
	Subagent   string          `json:"subagent,omitempty"` // the agent at the provider that makes the call
	ToolCallID string          `json:"tool_call_id,omitempty"`
	ToolName   string          `json:"tool_name,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	RiskLevel  Risk            `json:"risk_level,omitempty"` // of the request
	Outcome    string          `json:"outcome,omitempty"`    // of a call: see Outcome
	Action     Action          `json:"action,omitempty"`
	ReviewerID string          `json:"reviewer_id,omitempty"`
	OnBehalfOf string          `json:"on_behalf_of,omitempty"` // the reviewer in whose place they decided
	Demands    []Demand        `json:"demands,omitempty"`      // of a request: all; of an approval: those that it counts for
	Channel    string          `json:"channel,omitempty"`
	Passkey    string          `json:"passkey,omitempty"` // id of the passkey that was registered, was revoked or has confirmed an approval
	Note       string          `json:"note,omitempty"`
	Before     json.RawMessage `json:"before,omitempty"`     // arguments as the model wrote them
	After      json.RawMessage `json:"after,omitempty"`      // arguments that were released, where they differ
	FreeText   bool            `json:"free_text,omitempty"`  // the tool's input is free text: Before and After are a string
	Doubts     []string        `json:"doubts,omitempty"`     // why clients may read the call in different ways
	Again      bool            `json:"again,omitempty"`      // of call_released: the agent had got the call before, and has repeated its request
	Grant      *Grant          `json:"grant,omitempty"`      // as it was created or revoked
	Delegation *Delegation     `json:"delegation,omitempty"` // as it was created or revoked
	Result     *CallResult     `json:"result,omitempty"`     // of an approved call
	Checkpoint *Checkpoint     `json:"checkpoint,omitempty"`
	Policy     *PolicyVersion  `json:"policy,omitempty"` // of policy_changed
	// Reviewers are those of reviewers_changed. Note has the settings that give rights to others.
	Reviewers []ReviewerRights `json:"reviewers,omitempty"`
	Seq       uint64           `json:"seq"`
	PrevHash  string           `json:"prev_hash"` // hex SHA-256, "" for the first
	Hash      string           `json:"hash"`
}

// EventPage is one page of the audit log, oldest first. NextCursor is "" on the last
// page.
type EventPage struct {
	Items      []Event `json:"items"`
	NextCursor string  `json:"next_cursor"`
}

// Outcome is how one call ended. The model, the log and the metrics distinguish all of
// them.
type Outcome string

// The outcomes of a call.
const (
	OutcomeAllowedByRule    Outcome = "allowed_by_rule"
	OutcomeAllowedByPerson  Outcome = "allowed_by_person"
	OutcomeAllowedByTimeout Outcome = "allowed_by_timeout"
	OutcomeModified         Outcome = "modified"
	OutcomeDeniedByRule     Outcome = "denied_by_rule"
	OutcomeDeniedByPerson   Outcome = "denied_by_person"
	OutcomeExpired          Outcome = "expired"
	OutcomeAnswered         Outcome = "answered"            // by a person, in place of a run
	OutcomeDefault          Outcome = "answered_by_default" // a question without an answer in time
	OutcomeInvalidQuestion  Outcome = "invalid_question"    // without asking people
	OutcomeCancelled        Outcome = "cancelled"
	OutcomeParked           Outcome = "parked" // it may be called again after its approval
	OutcomeAborted          Outcome = "aborted"
	OutcomeFailedClosed     Outcome = "failed_closed"
)
