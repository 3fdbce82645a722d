package approvals

import (
	"encoding/json"
	"strconv"
	"time"
)

// PrincipalSignalPayload is a signal by principal as clients write it.
type PrincipalSignalPayload struct {
	Principal Principal       `json:"principal"` // at least one field; those that are empty match all
	Action    SignalAction    `json:"action"`
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// From returns the signal of a reviewer, whom the channel has authenticated.
func (p *PrincipalSignalPayload) From(reviewer string) PrincipalSignal {
	return PrincipalSignal{Principal: p.Principal, Action: p.Action, Payload: p.Payload, ReviewerID: reviewer}
}

// PrincipalSignal is the last signal to a principal. A pause or an abort is in force for all
// runs of the principal, present and future, until a resume_run for the same principal.
type PrincipalSignal struct {
	Principal  Principal       `json:"principal"` // empty fields match all
	Action     SignalAction    `json:"action"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	ReviewerID string          `json:"reviewer_id"` // set by the channel
	Since      time.Time       `json:"since"`       // UTC
}

// Key returns the id of the record. Different principals never have the same.
func (s *PrincipalSignal) Key() string {
	var key []byte
	for _, part := range []string{s.Principal.Tenant, s.Principal.User, s.Principal.Agent} {
		key = append(strconv.AppendInt(key, int64(len(part)), 10), ':')
		key = append(key, part...)
	}
	return string(key)
}

// State returns the state of the runs of the principal after the signal.
func (s *PrincipalSignal) State() RunState {
	state, _ := s.Action.Effect()
	return state
}

// InForce reports whether the signal pauses or aborts runs.
func (s *PrincipalSignal) InForce() bool { return s.State().Stopped() }

// Stopped reports whether calls of a run in this state are not released.
func (s RunState) Stopped() bool { return s == RunPaused || s == RunAborted }

// Effect returns the state of a run after a signal and the type of its event, "" for an
// action that is not known.
func (a SignalAction) Effect() (RunState, EventType) {
	switch a {
	case SignalPause:
		return RunPaused, EventRunPaused
	case SignalResume:
		return RunRunning, EventRunResumed
	case SignalAbort:
		return RunAborted, EventRunAborted
	}
	return "", ""
}

// Wider returns the principals whose signals apply to p: p itself, and p with some of its
// fields empty.
func (p Principal) Wider() []Principal {
	all := make([]Principal, 0, 8)
	for _, tenant := range upTo(p.Tenant) {
		for _, user := range upTo(p.User) {
			for _, agent := range upTo(p.Agent) {
				all = append(all, Principal{Tenant: tenant, User: user, Agent: agent})
			}
		}
	}
	return all
}

// upTo returns a name and the empty name, each once.
func upTo(name string) []string {
	if name == "" {
		return []string{""}
	}
	return []string{name, ""}
}
