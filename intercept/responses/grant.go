package responses

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
)

// A call of a hosted MCP tool that people approve is run by the provider, when the
// next request brings the approval. Where heldcall makes that request itself, in a
// continuation, the approval is used at once. Where the agent has a call of its own
// to answer first, its next request brings the approval: one request, not each that
// continues the answer, and only to the server that people were asked about.

// mcpApprovals are the approvals of the turn.
func (s *resolution) mcpApprovals() (list []history.MCPApproval) {
	for _, it := range s.body.calls() {
		if s.plan.Aborted == nil && it.approved() {
			id, label := it.callID(), it.entry.Server
			list = append(list, history.MCPApproval{
				ID: id, Key: s.body.responseID() + " " + id, Label: label, Address: s.body.offers().Address(label, s.req.Field("prompt")),
			})
		}
	}
	return list
}

// approved reports whether a call is one of a hosted MCP tool that people approved.
func (it *item) approved() bool {
	return it.call.form.Type == wire.ApprovalRequest && it.ruling().Action == intercept.Release
}

// withdrawUsed takes back the approvals that were given to an earlier request for the
// same answer, and went upstream with the continuation of it.
func (s *resolution) withdrawUsed() {
	if s.fetch() != nil {
		return
	}
	for _, it := range s.body.calls() {
		if it.recalled && it.approved() {
			it.Rule(intercept.Ruling{ModelMessage: history.ApprovedBefore})
		}
	}
}
