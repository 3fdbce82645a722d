package conversation

import (
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// State is the part of a conversation that is needed to continue in another process.
type State struct {
	Identity  Identity
	Continues keptAnswer
	Records   [][]byte // of hidden turns, that are spliced into the request
	Parked    []approvals.Request
	Shared    []string            // see [Conversation.AskOnce]
	Before    Denied              // in the conversation, before the current answer
	Denied    bool                // calls of this turn were denied
	Replaced  map[int]Replacement // of results in the request
	Taint     string
	Offered   []string // tools that were added to the request
}

// State returns the state. It shares memory with the conversation.
func (c *Conversation) State() State {
	h := &c.Hidden
	return State{*c.Identity(), c.continued, h.records, h.parked, h.shared, c.Denials.before, c.Denials.any, c.Judged.replaced, c.Judged.taint, c.Offered.names}
}

// Restore reads the request again and sets the state of the conversation.
func (c *Conversation) Restore(s State) *intercept.Error {
	c.id, c.continued, c.Hidden.records, c.Hidden.parked = s.Identity, s.Continues, s.Records, s.Parked
	c.Hidden.shared = s.Shared
	c.Denials.before, c.Denials.any = s.Before, s.Denied
	c.Judged.replaced, c.Judged.taint = s.Replaced, s.Taint
	c.Offered = Offered{names: s.Offered, known: s.Offered, chosen: true}
	if refusal := c.read(); refusal != nil {
		return refusal
	}
	if len(s.Replaced) > 0 {
		c.Judged.Read()
	}
	if len(s.Records) > 0 {
		c.Parsed.Splice(s.Records)
	}
	return c.Judged.Apply()
}
