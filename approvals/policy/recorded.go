package policy

import (
	"encoding/json"

	"github.com/heldcall/heldcall/approvals"
)

// RecordedCall reads from the audit log a call as it was judged and what policy said
// of it then. It is false for an event that tells nothing new of a call: what followed
// the judgement, or a call that was denied because a person had denied it before.
func RecordedCall(e *approvals.Event) (c Call, then Action, ok bool) {
	switch {
	case e.Before == nil:
		return Call{}, "", false
	case e.Type == approvals.EventApprovalRequired:
		then = Ask
	case e.Type == approvals.EventCallAllowed, e.Type == approvals.EventCallReleased: // released as it streamed
		then = Allow
	case e.Type == approvals.EventCallDenied && e.RequestID == "" && e.Outcome == string(approvals.OutcomeDeniedByRule):
		then = Deny
	default:
		return Call{}, "", false
	}
	c = Call{
		Tool: e.ToolName, Arguments: string(e.Before), FreeText: e.FreeText, Ambiguous: e.Doubts,
		Principal: e.Principal, Session: e.SessionID, Run: e.RunID, Turn: e.TurnID, Model: e.Model, Dialect: e.Dialect, Now: e.Time,
	}
	var text string
	if json.Unmarshal(e.Before, &text) == nil { // free text, or arguments that were not strict
		c.Arguments = text
	}
	return c, then, true
}
