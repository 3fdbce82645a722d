package approvals

// AgentNote describes to reviewers the agent's side of a request, "" if the agent waits
// for the decision.
func (r *Request) AgentNote() string {
	if r.Agent == nil {
		return ""
	}
	runs := r.Status == StatusPending || r.Status == StatusApproved
	switch r.Agent.State {
	case AgentDetached:
		if runs {
			return "the agent has disconnected; an approved call is released when the agent reconnects"
		}
		return "the agent has disconnected; it gets the decision when it reconnects"
	case AgentParked:
		if runs {
			return "the agent goes on without the call; after an approval it may make the call once"
		}
		return "the agent goes on without the call"
	}
	return ""
}
