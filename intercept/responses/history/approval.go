package history

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// AddressOf tells the server at which calls of a label run from any other: by its
// address or, where the request offers none, by the prompt that does. It is empty
// where several may be meant.
func (r *Request) AddressOf(offers []Offer, label string) string {
	switch o, one := labelled(offers, label); {
	case !one:
		return ""
	case o != nil:
		return o.address()
	}
	prompt := gjson.ParseBytes(r.Field("prompt"))
	return intercept.Fingerprint("prompt", prompt.Get("id").String(), prompt.Get("version").String())
}

// OneTimeApprovals implements [intercept.Request].
func (r *Request) OneTimeApprovals() []intercept.OneTimeApproval { return r.Known.spends }

// once is an output of heldcall's as this request may bring it: an approval that it
// must not becomes a refusal with the reason. After it are the items of the agent's
// that stand behind it in one history with the question.
func (s *splicer) once(rec *Record, output string, behind []gjson.Result) string {
	said := gjson.Parse(output)
	if said.Get("type").Str != "mcp_approval_response" || said.Get("approve").Type != gjson.True {
		return output
	}
	if s.Verb.Beside() {
		return output
	}
	id := said.Get("approval_request_id").Str
	at := slices.IndexFunc(rec.Grants, func(g MCPApproval) bool { return g.ID == id })
	if at >= 0 && !s.sameServer(&rec.Grants[at]) {
		return refusal(id, "The approval was for another server than the one that this request offers under the same label.")
	}
	switch {
	case s.ran(id, behind):
		return output
	case at < 0 || s.spent[rec.Grants[at].Key]:
		return refusal(id, ApprovedBefore)
	}
	s.spends = append(s.spends, spending(rec.Grants[at].Key))
	return output
}

// sameServer reports whether the call would run where people were asked about it.
func (s *splicer) sameServer(g *MCPApproval) bool {
	return g.Address != "" && g.Address == s.AddressOf(s.Offered(), g.Label)
}

// ApprovedBefore is what the model reads of an approval that was used before.
const ApprovedBefore = "This call was approved once already, for an earlier request in which it could run. It is not approved a second time. If it is still needed, ask for it again."

func refusal(id, reason string) string {
	return `{"type":"mcp_approval_response","approval_request_id":` + strictjson.Quote(id) + `,"approve":false,"reason":` + strictjson.Quote(reason) + "}"
}

// spending is the use of an approval, with the record that it was used.
func spending(key string) intercept.OneTimeApproval {
	return intercept.OneTimeApproval{ID: key, Record: []byte(`{"spent":` + strictjson.Quote(key) + "}")}
}

// ran reports whether the agent repeats the call that was approved, and that the
// provider has run, behind its approval: it is part of the history then, and is not
// run again.
func (s *splicer) ran(id string, behind []gjson.Result) bool {
	made, known := s.made[id]
	return known && slices.ContainsFunc(behind, func(item gjson.Result) bool {
		own := item.Get("id").Str
		switch typeIn(item) {
		case "mcp_call":
			return item.Get("approval_request_id").Str == id && ((own != "" && own == made.ID) || (own == "" && RunOf(item).Said == made.Said))
		case "item_reference":
			return own != "" && own == made.ID
		}
		return false
	})
}
