package responses

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// A call of a hosted MCP tool that people approve is run by the provider, when the
// next request brings the approval. Where heldcall makes that request itself, in a
// continuation, the approval is used at once. Where the agent has a call of its own
// to answer first, its next request brings it: a request, and not each that goes on
// from the same answer, and only to the server that people were asked about.

// grant is an approval that the agent's next request brings.
type grant struct {
	ID      string `json:"id"`      // of the question
	Key     string `json:"key"`     // the same for nobody else's question
	Label   string `json:"label"`   // of the server, as the question names it
	Address string `json:"address"` // of the server that runs the call: see addressOf
}

// grants are the approvals of the turn.
func (s *resolution) grants() (list []grant) {
	for _, it := range s.calls() {
		if it.call.form.Type == wire.ApprovalRequest && s.plan.Aborted == nil && it.ruling().Fate == intercept.Release {
			list = append(list, grant{it.callID(), s.responseID() + " " + it.callID(), it.entry.Server, s.req.addressOf(s.offered(), it.entry.Server)})
		}
	}
	return list
}

// addressOf tells the server at which calls of a label run from any other: by its
// address or, where the request offers none, by the prompt that does. It is empty
// where several may be meant.
func (r *request) addressOf(offers []offer, label string) string {
	switch o, one := labelled(offers, label); {
	case !one:
		return ""
	case o != nil:
		return o.address()
	}
	prompt := gjson.ParseBytes(r.Field("prompt"))
	return intercept.Fingerprint("prompt", prompt.Get("id").String(), prompt.Get("version").String())
}

// Spends implements [intercept.Request].
func (r *request) Spends() []intercept.Spending { return r.known.spends }

// once is an output of heldcall's as this request may bring it: an approval that it
// must not becomes a refusal, which says why. Behind are the items of the agent's
// that stand behind it in one history with the question.
func (s *splicer) once(rec *record, output string, behind []gjson.Result) string {
	said := gjson.Parse(output)
	if said.Get("type").Str != "mcp_approval_response" || said.Get("approve").Type != gjson.True {
		return output
	}
	if s.verb.beside() {
		return output
	}
	id := said.Get("approval_request_id").Str
	at := slices.IndexFunc(rec.Grants, func(g grant) bool { return g.ID == id })
	if at >= 0 && !s.sameServer(&rec.Grants[at]) {
		return refusal(id, "The approval was for another server than the one that this request offers under the same label.")
	}
	switch {
	case s.ran(id, behind):
		return output
	case at < 0 || s.spent[rec.Grants[at].Key]:
		return refusal(id, approvedBefore)
	}
	s.spends = append(s.spends, spending(rec.Grants[at].Key))
	return output
}

// sameServer reports whether the call would run where people were asked about it.
func (s *splicer) sameServer(g *grant) bool {
	return g.Address != "" && g.Address == s.addressOf(s.offered(), g.Label)
}

const approvedBefore = "This call was approved once already, for an earlier request in which it could run. It is not approved a second time. If it is still needed, ask for it again."

// useOnce takes back the approvals that were given to whoever asked for the same
// answer before, and that went upstream with the continuation of it.
func (s *resolution) useOnce() {
	if s.fetch() != nil {
		return
	}
	for _, it := range s.calls() {
		if it.recalled && it.call.form.Type == wire.ApprovalRequest && it.ruling().Fate == intercept.Release {
			it.Rule(intercept.Ruling{Told: approvedBefore})
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

// hostedRun is a call that the provider has run because it was approved.
type hostedRun struct {
	ID   string `json:"id,omitempty"`
	Said string `json:"said"` // fingerprint of it, for agents that leave out ids
}

func runOf(call gjson.Result) hostedRun {
	said := make([]string, 0, 4)
	for _, name := range []string{"server_label", "name", "arguments", "output"} {
		said = append(said, call.Get(name).String())
	}
	return hostedRun{call.Get("id").Str, intercept.Fingerprint(said...)}
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
			return item.Get("approval_request_id").Str == id && (own != "" && own == made.ID || own == "" && runOf(item).Said == made.Said)
		case "item_reference":
			return own != "" && own == made.ID
		}
		return false
	})
}

// noteMade remembers which calls of the turn the provider has run because they were
// approved.
func (s *resolution) noteMade() {
	for _, it := range s.items {
		if approval := it.entry.Field("approval_request_id").Str; it.entry.Type == "mcp_call" && approval != "" {
			if s.made == nil {
				s.made = make(map[string]hostedRun)
			}
			s.made[approval] = runOf(gjson.Parse(it.entry.Raw))
		}
	}
}
