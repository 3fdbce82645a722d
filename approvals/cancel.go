package approvals

import "strings"

// Reasons why a request was cancelled, as details.cancel_reason tells them.
const (
	CancelAgentGone   = "agent_gone"
	CancelRunAborted  = "run_aborted"
	CancelNotRecorded = "not_recorded" // a sibling or an event could not be recorded
	CancelFault       = "internal_error"
)

// CancelReasons are the reasons in the words in which people are told of them.
func CancelReasons() map[string]string {
	return map[string]string{
		CancelAgentGone:   "its agent has gone",
		CancelRunAborted:  "its run was stopped",
		CancelNotRecorded: "it could not be recorded with the calls beside it",
		CancelFault:       "heldcall failed at it, and its log says why",
	}
}

// WhyCancelled says in words why the request was cancelled, "" where nothing is known of
// that.
func (r *Request) WhyCancelled() string {
	if words, known := CancelReasons()[r.Details.CancelReason]; known {
		return words
	}
	return strings.ReplaceAll(r.Details.CancelReason, "_", " ")
}
