package gate

import "github.com/heldcall/heldcall/approvals"

// HeldTurns knows the turns that are stored while their requests wait. It is called for
// every request and must not wait. [heldturns.Keeper] implements it.
type HeldTurns interface {
	// AgentState returns the state of a turn; ok is false for one that is not stored.
	AgentState(turnID string) (state approvals.AgentState, ok bool)
	// RequestChanged is called with every state of a request, from the first load on.
	RequestChanged(r *approvals.Request)
}

// heldTurns is a HeldTurns that may be nil.
type heldTurns struct{ HeldTurns }

// describe sets the agent's state of a request that is served.
func (t heldTurns) describe(r *approvals.Request) {
	if state, ok := t.state(r.TurnID); ok {
		r.Agent = &state
	}
}

// state returns the state of a turn; ok is false for one that is not stored.
func (t heldTurns) state(turn string) (state approvals.AgentState, ok bool) {
	if t.HeldTurns == nil {
		return state, false
	}
	return t.AgentState(turn)
}

// stored reports whether a turn is stored.
func (t heldTurns) stored(turn string) bool {
	_, ok := t.state(turn)
	return ok
}

// changed reports the state of a request.
func (t heldTurns) changed(r *approvals.Request) {
	if t.HeldTurns != nil {
		t.RequestChanged(r)
	}
}
