package responses

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// A call of a hosted MCP tool that people approve is run by the provider, when the
// next request brings the approval. Where heldcall makes that request itself, in a
// continuation, the approval is used at once. Where the agent has a call of its own
// to answer first, its next request brings it: a request, and not each that goes on
// from the same answer, and only to the server that people were asked about.

// grant is an approval that the agent's next request brings.
type grant struct {
	ID     string `json:"id"`     // of the question
	Key    string `json:"key"`    // the same for nobody else's question
	Label  string `json:"label"`  // of the server, as the question names it
	Server string `json:"server"` // that runs the call, as policy knows it
}

// grants are the approvals of the turn.
func (s *settling) grants() (list []grant) {
	for _, it := range s.calls() {
		if it.call.form.typ == approvalRequest && s.aborted == nil && s.fates[it].Fate == intercept.Release {
			list = append(list, grant{it.callID(), s.responseID() + " " + it.callID(), it.entry.server, it.call.hosted})
		}
	}
	return list
}

// Spends implements [intercept.Request].
func (r *request) Spends() []intercept.Spending { return r.known.spends }

// once is an output of heldcall's as this request may bring it: an approval that it
// must not becomes a refusal, which says why.
func (s *splicer) once(rec *record, output string) string {
	said := gjson.Parse(output)
	if said.Get("type").Str != "mcp_approval_response" || said.Get("approve").Type != gjson.True {
		return output
	}
	id := said.Get("approval_request_id").Str
	if s.verb.beside() || s.ran(id) {
		return output
	}
	at := slices.IndexFunc(rec.Grants, func(g grant) bool { return g.ID == id })
	switch {
	case at < 0 || s.spent[rec.Grants[at].Key]:
		return refusal(id, approvedBefore)
	case rec.Grants[at].Server != serverOf(s.offered(), rec.Grants[at].Label):
		return refusal(id, "The approval was for another server than the one that this request offers under the same label.")
	}
	s.spends = append(s.spends, spending(rec.Grants[at].Key))
	return output
}

const approvedBefore = "This call was approved once already, for an earlier request in which it could run. It is not approved a second time. If it is still needed, ask for it again."

// useOnce takes back the approvals that were given to whoever asked for the same
// answer before, and that went upstream with the continuation of it.
func (s *settling) useOnce() {
	if s.fetch() != nil {
		return
	}
	for _, it := range s.calls() {
		if it.call.known != nil && it.call.form.typ == approvalRequest && s.fates[it].Fate == intercept.Release {
			s.fates[it] = intercept.Ruling{Told: approvedBefore}
		}
	}
}

func refusal(id, reason string) string {
	return `{"type":"mcp_approval_response","approval_request_id":` + intercept.Quote(id) + `,"approve":false,"reason":` + intercept.Quote(reason) + "}"
}

// spending is the use of an approval, with the record that it was used.
func spending(key string) intercept.Spending {
	return intercept.Spending{ID: key, Record: []byte(`{"spent":` + intercept.Quote(key) + "}")}
}

// ran reports whether the agent repeats the call that was approved, and that the
// provider has run: it is part of the history then, and is not run again.
func (s *splicer) ran(id string) bool {
	made, known := s.made[id]
	return known && slices.ContainsFunc(s.items(), func(item gjson.Result) bool {
		switch typeIn(item) {
		case "mcp_call":
			own := item.Get("id").Str
			return item.Get("approval_request_id").Str == id && (own == "" || own == made)
		case "item_reference":
			return item.Get("id").Str == made
		}
		return false
	})
}

// noteMade remembers which calls of the turn the provider has run because they were
// approved.
func (s *settling) noteMade() {
	for _, it := range s.items {
		if approval := it.entry.field("approval_request_id").Str; it.entry.typ == "mcp_call" && approval != "" {
			if s.made == nil {
				s.made = make(map[string]string)
			}
			s.made[approval] = it.entry.id
		}
	}
}
