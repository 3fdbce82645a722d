package resource

import (
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Call is one tool call as policy sees it.
type Call struct {
	Tool      string // name as the model wrote it
	Arguments string // exact text the model wrote; blank counts as {}
	FreeText  bool   // the tool's input is free text by contract: the text is the resource
	Fixed     bool   // its arguments cannot be changed

	// Ambiguous are the reasons, one sentence each, why the wire format has several readings.
	Ambiguous []string

	Principal approvals.Principal
	Session   string
	Run       string
	Turn      string
	Model     string
	Dialect   string
	Now       time.Time // zero: not known, so that conditions that ask for it fail
}

// Key is equal for calls of a tool with equal arguments, however written. Arguments that are not
// strict are compared as text.
func (c *Call) Key() string {
	if c.FreeText || len(match.CheckArguments(c.Arguments)) > 0 {
		return c.Tool + "\x00text\x00" + c.Arguments
	}
	return c.Tool + "\x00" + match.Canonical(c.Arguments)
}

// Action is the decision of a policy. The zero value is invalid and must not be read as [Allow].
type Action string

// The actions.
const (
	Allow Action = "allow"
	Deny  Action = "deny"
	Ask   Action = "ask"
)
