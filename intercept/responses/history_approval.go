package responses

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// OneTimeApprovals implements [intercept.Request].
func (r *request) OneTimeApprovals() []intercept.OneTimeApproval { return r.memory.spends }

// once is an output of heldcall's as this request may bring it: an approval that it may
// not use becomes a refusal with the reason. Following are the items of the agent's after
// the approval in a history that has the question too.
func (s *splicer) once(rec *answerRecord, output string, following []gjson.Result) string {
	item := gjson.Parse(output)
	if item.Get("type").Str != approvalResponse || item.Get("approve").Type != gjson.True || s.req.operation.isAuxiliary() {
		return output
	}
	id := item.Get("approval_request_id").Str
	grant := slices.IndexFunc(rec.Grants, func(g mcpApproval) bool { return g.ID == id })
	if grant >= 0 && !s.sameServer(&rec.Grants[grant]) {
		return approvalRefusal(id, "The approval was for another server than the one that this request offers under the same label.")
	}
	switch {
	case s.hasRun(id, following):
		return output
	case grant < 0 || s.spent[rec.Grants[grant].Key]:
		return approvalRefusal(id, approvedBefore)
	}
	s.memory.spends = append(s.memory.spends, approvalUse(rec.Grants[grant].Key))
	return output
}

// sameServer reports whether the call would run at the server that people were asked
// about.
func (s *splicer) sameServer(g *mcpApproval) bool {
	return g.Address != "" && g.Address == s.req.offered().address(g.Label, s.req.Field("prompt"))
}

// approvedBefore is what the model reads of an approval that was used before.
const approvedBefore = "This call was approved once already, for an earlier request in which it could run. It is not approved a second time. If it is still needed, ask for it again."

// approvalRefusal is the item that refuses an approval, with the reason for the model.
func approvalRefusal(id, reason string) string {
	return `{"type":"mcp_approval_response","approval_request_id":` + strictjson.Quote(id) + `,"approve":false,"reason":` + strictjson.Quote(reason) + "}"
}

// approvalUse is the use of an approval, with the record that it was used.
func approvalUse(key string) intercept.OneTimeApproval {
	return intercept.OneTimeApproval{ID: key, Record: []byte(`{"spent":` + strictjson.Quote(key) + "}")}
}

// hasRun reports whether the agent repeats the call that was approved, and that the
// provider has run, after its approval: then it is part of the history, and does not run
// again.
func (s *splicer) hasRun(id string, following []gjson.Result) bool {
	ran, approved := s.ran[id]
	return approved && slices.ContainsFunc(following, func(item gjson.Result) bool {
		itemID := item.Get("id").Str
		switch typeOf(item) {
		case "mcp_call":
			return item.Get("approval_request_id").Str == id && ((itemID != "" && itemID == ran.ID) || (itemID == "" && runOf(item).Content == ran.Content))
		case "item_reference":
			return itemID != "" && itemID == ran.ID
		}
		return false
	})
}
