package approvals

import "strings"

// Reasons why a request was cancelled: the values of details.cancel_reason.
const (
	CancelAgentGone   = "agent_gone"
	CancelRunAborted  = "run_aborted"
	CancelNotRecorded = "not_recorded" // a sibling or an event could not be recorded
	CancelFault       = "internal_error"
)

// CancelReasons returns the reasons with the texts that people read.
func CancelReasons() map[string]string {
	return map[string]string{
		CancelAgentGone:   "its agent has gone",
		CancelRunAborted:  "its run was stopped",
		CancelNotRecorded: "it could not be recorded with the calls beside it",
		CancelFault:       "internal error (see the log)",
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
