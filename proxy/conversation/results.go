package conversation

import (
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// ReleasedCalls are the released calls that wait for their results. [gate.Results]
// implements it.
type ReleasedCalls interface {
	Any() bool
	AnyIn(principal approvals.Principal, session string) bool
}

// Results returns the results of calls that are new in the agent's request, if a call of
// its session waits for one. The principal and the session are those that released calls
// have. Call it before the hidden turns are spliced in.
func (c *Conversation) Results(released ReleasedCalls) (principal approvals.Principal, session string, results []intercept.ToolResult) {
	if !released.Any() {
		return principal, "", nil
	}
	who := c.sessionIdentity()
	if !released.AnyIn(who.Principal, who.Session) {
		return principal, "", nil
	}
	return who.Principal, who.Session, c.Parsed.Results()
}
