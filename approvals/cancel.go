package approvals

import "strings"

// Reasons why a request was cancelled: the values of details.cancel_reason.
const (
	CancelAgentGone   = "agent_gone"
	CancelRunAborted  = "run_aborted"
	CancelNotRecorded = "not_recorded" // it, its event or another request of the turn
	CancelFault       = "internal_error"
	// CancelAgentRestarted is that of a request in whose place another one asks.
	CancelAgentRestarted = "agent_restarted"
)

// CancelReasons returns a text for each reason.
func CancelReasons() map[string]string {
	return map[string]string{
		CancelAgentGone:   "its agent has gone",
		CancelRunAborted:  "its run was stopped",
		CancelNotRecorded: "it or another call of its turn could not be recorded",
		CancelFault:       "internal error (see the log)",

		CancelAgentRestarted: "its agent was started again, and another request asks about the call",
	}
}

// WhyCancelled returns the reason why the request was cancelled as a text, "" if it is
// not known.
func (r *Request) WhyCancelled() string {
	if words, known := CancelReasons()[r.Details.CancelReason]; known {
		return words
	}
	return strings.ReplaceAll(r.Details.CancelReason, "_", " ")
}
