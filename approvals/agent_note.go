package approvals

import "time"

// AgentNote describes to reviewers the agent's side of a request: the state of its turn,
// since when, and what follows. It is "" without a stored turn, where the agent gets the
// decision at once, and once the call is released. at formats the time.
func (r *Request) AgentNote(at func(time.Time) string) string {
	note := ""
	switch {
	case r.Agent == nil, r.Details.Result != nil, r.settled():
		return ""
	case r.Agent.State == AgentAttached && !r.Status.Final():
		note = "the agent waits for the decision"
	case r.Agent.State == AgentDetached:
		note = "an approved call is released when the agent reconnects"
		if r.Status.Final() {
			note = "the agent gets the decision when it reconnects"
		}
	case r.Agent.State == AgentParked:
		note = "the agent goes on without the call"
		if !r.Status.Final() {
			note += "; after an approval it may make the call once"
		}
	default:
		return ""
	}
	if r.Status == StatusApproved {
		note = r.AfterApproval()
	}
	return string(r.Agent.State) + " since " + at(r.Agent.Since) + ": " + note
}

// AfterApproval describes to reviewers what happens to the approved call of a request, ""
// if it is released at once or has been released.
func (r *Request) AfterApproval() string {
	if r.Status != StatusApproved || r.Agent == nil || r.Details.Result != nil || r.settled() {
		return ""
	}
	switch r.Agent.State {
	case AgentDetached:
		return "the call is released when the agent reconnects"
	case AgentParked:
		return "the agent goes on, and may make the call once"
	}
	return ""
}
