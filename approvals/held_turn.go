package approvals

import "time"

// AttachState is whether an agent waits for a held turn.
type AttachState string

// The states of a held turn.
const (
	AgentAttached AttachState = "attached" // an agent's connection waits for it
	AgentDetached AttachState = "detached" // its agent's connection has ended; the agent may come back
	AgentParked   AttachState = "parked"   // its agent was answered with a notice and may go on
)

// AgentState is the agent's side of a held turn.
type AgentState struct {
	State AttachState `json:"state"`
	Since time.Time   `json:"since"` // UTC
}

// HeldTurn names a turn that is stored while its requests wait for people.
type HeldTurn struct {
	ID           string // of the turn
	Conversation string // digest of the session and its principal
	Fingerprint  string // digest of the agent's request: equal requests of one agent have equal ones
	// Task is a digest of the agent and of the user's last message without numbers and dates. It is
	// equal for the requests of an agent that was started again. "" in turns of earlier versions.
	Task string
}
