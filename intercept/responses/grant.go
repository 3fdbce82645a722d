package responses

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// A call of a hosted MCP tool that people approve is run by the provider, when the
// next request brings the approval. Where heldcall makes that request itself, in a
// continuation, the approval is used at once. Where the agent has a call of its own
// to answer first, its next request brings it: a request, and not each that goes on
// from the same answer, and only to the server that people were asked about.

// grants are the approvals of the turn.
func (s *resolution) grants() (list []history.MCPApproval) {
	for _, it := range s.calls() {
		if it.call.form.Type == wire.ApprovalRequest && s.plan.Aborted == nil && it.ruling().Action == intercept.Release {
			list = append(list, history.MCPApproval{
				ID: it.callID(), Key: s.responseID() + " " + it.callID(), Label: it.entry.Server, Address: s.req.AddressOf(s.offered(), it.entry.Server),
			})
		}
	}
	return list
}

// useOnce takes back the approvals that were given to whoever asked for the same
// answer before, and that went upstream with the continuation of it.
func (s *resolution) useOnce() {
	if s.fetch() != nil {
		return
	}
	for _, it := range s.calls() {
		if it.recalled && it.call.form.Type == wire.ApprovalRequest && it.ruling().Action == intercept.Release {
			it.Rule(intercept.Ruling{ModelMessage: history.ApprovedBefore})
		}
	}
}

// noteMade remembers which calls of the turn the provider has run because they were
// approved.
func (s *resolution) noteMade() {
	for _, it := range s.items {
		if approval := it.entry.Field("approval_request_id").Str; it.entry.Type == "mcp_call" && approval != "" {
			if s.made == nil {
				s.made = make(map[string]history.HostedRun)
			}
			s.made[approval] = history.RunOf(gjson.Parse(it.entry.Raw))
		}
	}
}
