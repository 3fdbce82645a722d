// Package live is the messages of the console's WebSocket: the server writes
// them and the Go client reads them.
package live

import (
	"encoding/json"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Path is where the WebSocket is.
const Path = "/api/v1/ws"

// Subprotocol is that of the console. A page that signed in offers KeyProtocol too,
// followed by the key of its session: a page cannot set the headers of a WebSocket.
const (
	Subprotocol = "heldcall.v1"
	KeyProtocol = "heldcall.session_key."
)

// Type names a message.
type Type string

// What the console sends.
const (
	TypeRequest Type = "agent_tool_permission_request" // a pending request; Data is a RequestData
	TypeUpdate  Type = "agent_tool_permission_update"  // a request that has changed; Data is a RequestData
	TypeReady   Type = "ready"                         // all pending requests have been sent; Data is a Ready
	TypeStatus  Type = "agent_status"                  // the answer to TypeQuery; Data is an AgentStatus
	TypeError   Type = "error"                         // Data is a problem.Problem
)

// What a client sends.
const (
	TypeResponse Type = "agent_tool_permission_response" // a decision; Data is an approvals.DecisionPayload
	TypeQuery    Type = "get_agent_status"               // Data is a StatusQuery
)

// Message is what goes over a WebSocket, one a text frame.
type Message[T any] struct {
	Type Type `json:"type"`
	// ID is the client's own name for a message that it sends, and is in the
	// answer to that one. What the console sends by itself has none.
	ID string `json:"id,omitempty"`
	// EventID is where to resume after this message: see the parameter
	// last_event_id.
	EventID string `json:"event_id,omitempty"`
	Data    T      `json:"data"`
}

// RequestData is a request as a WebSocket sends it: with the names, beside its own, by
// which clients that were written for other agent frameworks know these things. A large
// one is abridged, see [approvals.Request.Abridged].
type RequestData struct {
	approvals.Request
	ExecutionID string          `json:"execution_id"` // id
	Parameters  json.RawMessage `json:"parameters"`   // arguments
	Message     string          `json:"message"`      // title
}

// NewRequestData returns a request with all of its names, abridged if it is large.
func NewRequestData(r approvals.Request) RequestData {
	r = r.Abridged()
	return RequestData{Request: r, ExecutionID: r.ID, Parameters: r.Arguments, Message: r.Title}
}

// Ready reports that all pending requests have been sent.
type Ready struct {
	// Pending are the ids of all pending requests. Others that a client shows have ended.
	Pending []string `json:"pending"`
	// Resumed is true if requests that ended since last_event_id are sent next.
	Resumed bool `json:"resumed"`
}

// StatusQuery asks for the state of agents: all, or those of a session or run.
type StatusQuery struct {
	SessionID string `json:"session_id,omitempty"`
	RunID     string `json:"run_id,omitempty"`
}

// AgentStatus is the state of agents: the sessions with a pending request or with a
// run that was paused, resumed or stopped.
type AgentStatus struct {
	Sessions []SessionStatus `json:"sessions"`
}

// SessionStatus is the runs of one session.
type SessionStatus struct {
	SessionID string      `json:"session_id"`
	Runs      []RunStatus `json:"runs"`
}

// RunStatus is the state of one run.
type RunStatus struct {
	RunID      string              `json:"run_id"`
	State      approvals.RunState  `json:"state"`
	Principal  approvals.Principal `json:"principal"`
	ReviewerID string              `json:"reviewer_id,omitempty"` // who last paused, resumed or stopped it
	Waiting    []WaitingCall       `json:"waiting"`               // oldest first
}

// WaitingCall is a pending request in short.
type WaitingCall struct {
	RequestID   string         `json:"request_id"`
	ExecutionID string         `json:"execution_id"` // the same
	Kind        approvals.Kind `json:"kind"`
	ToolName    string         `json:"tool_name"`
	RiskLevel   approvals.Risk `json:"risk_level"`
	CreatedAt   time.Time      `json:"created_at"` // UTC
	ExpiresAt   time.Time      `json:"expires_at"` // UTC
}
