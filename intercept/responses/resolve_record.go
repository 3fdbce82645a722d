package responses

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// round is the turn with the outputs that the model gets from heldcall.
func (s *resolution) round(outputs []string) answerRound {
	r := answerRound{Outputs: outputs}
	asks := slices.ContainsFunc(s.body.items, func(it *item) bool { return it.entry.typ == approvalRequest })
	for _, it := range s.body.items {
		if it.call != nil && it.Void {
			continue
		}
		p := answerPart{Seen: s.reaches(it), Type: it.entry.typ, ID: it.entry.id, Text: it.entry.message(), Sealed: sealedFingerprint(gjson.Parse(it.entry.raw))}
		if it.call != nil {
			p.Call, p.Name = it.callID(), it.entry.name
		}
		switch ran := it.ruling(); {
		case !p.Seen || p.Type == "message" || (asks && p.Type == "reasoning"):
			p.Raw = it.original()
		case ran.Action == intercept.Edit:
			p.Raw = it.entry.withInput(it.call.form, ran.Arguments)
		}
		r.Items = append(r.Items, p)
	}
	return r
}

// interimRecord is the record of an answer that heldcall continues: a later request for
// it must not ask people about its calls again.
func (s *resolution) interimRecord(chain []string) *answerRecord {
	if s.answer.out.head.id == "" {
		return nil
	}
	rec := s.newRecord()
	rec.Chain = chain
	return rec
}

// repeatRecord is the record of an answer that hides nothing, for later requests for the
// same answer. It is nil where there can be none.
func (s *resolution) repeatRecord() *answerRecord {
	if s.plan.Aborted != nil || len(s.prior.ruled) == 0 || !(s.body.resumable() || s.body.stored()) {
		return nil
	}
	return s.newRecord()
}

// newRecord is a record with the rulings on the calls of the answer.
func (s *resolution) newRecord() *answerRecord {
	return &answerRecord{KeptAnswer: intercept.KeptAnswer{Response: gjson.Parse(s.answer.out.head.id).Str}, Ruled: s.prior.ruled}
}

// hides reports whether the agent gets less than the model's output, or another one.
func (s *resolution) hides() bool {
	return len(s.prior.rounds) > 0 || slices.ContainsFunc(s.body.calls(), func(it *item) bool {
		return !s.reaches(it) || it.ruling().Action == intercept.Edit
	})
}

// record describes what the agent did not get, for the later requests of the
// conversation. It is nil for an answer of one turn whose calls all went out unchanged.
func (s *resolution) record() *answerRecord {
	if s.req.operation.isAuxiliary() {
		return nil
	}
	delivered := s.req.memory.delivered
	if o := s.body.object; s.body.failed || o == nil || o.pending() {
		delivered = nil
	}
	hidden := s.hides()
	if !hidden && len(delivered)+len(s.prior.ran) == 0 {
		return nil
	}
	rec := s.newRecord()
	rec.Delivered, rec.HostedRuns = delivered, s.prior.ran
	last := s.round(s.outputs())
	rounds := append(slices.Clone(s.prior.rounds), last)
	s.seen(rec, rounds)
	rec.Chain, rec.Missing, rec.Grants = s.prior.chain, last.Outputs, s.mcpApprovals()
	if id := s.body.responseID(); id != "" {
		rec.Chain = append(rec.Chain, id)
	}
	if s.body.object != nil {
		rec.Conversation = s.body.object.conversation
	}
	if rec.Conversation == "" {
		rec.Conversation = s.req.conversation()
	}
	if !hidden {
		return rec
	}
	rec.Rounds = rounds
	if n := (closingText{s.answer.limits.TurnID, s.plan.Notice}); n.text != "" {
		part := answerPart{Seen: true, Raw: n.message(), Type: "message", ID: n.id(), Text: n.text, Unknown: true}
		rec.Rounds = append(rec.Rounds, answerRound{Items: []answerPart{part}})
		rec.Missing = append(rec.Missing, `{"type":"message","role":"assistant","content":`+strictjson.Quote(n.text)+"}")
		rec.Text += n.text
	}
	return rec
}

// seen describes what the agent got.
func (s *resolution) seen(rec *answerRecord, rounds []answerRound) {
	rec.Turn = s.answer.limits.TurnID
	rec.Before, rec.Opening, rec.Text = s.req.Ending(), intercept.Opening(s.req.Opening().String()), s.answer.text()
	for _, r := range rounds {
		for _, p := range r.Items {
			if p.Seen && p.ID != "" {
				rec.Items = append(rec.Items, p.ID)
			}
		}
	}
	if s.plan.Notice != "" {
		rec.Items = append(rec.Items, closingText{turn: s.answer.limits.TurnID}.id())
	}
	for _, it := range s.body.calls() {
		if !s.reaches(it) {
			continue
		}
		c := seenCall(it.entry.typ, it.entry.callID, it.entry.name, modelInput(s.plan, it))
		if r := it.ruling(); r.Action == intercept.Edit {
			c.Note = r.ModelMessage
			rec.SetRan(it.callID(), r.Arguments)
		}
		rec.Calls = append(rec.Calls, c)
	}
}

// A call of a hosted MCP tool that people approve is run by the provider, when the
// next request brings the approval. Where heldcall makes that request itself, in a
// continuation, the approval is used at once. Where the agent has a call of its own
// to answer first, its next request brings the approval: one request, not each that
// continues the answer, and only to the server that people were asked about.

// mcpApprovals are the approvals of the turn.
func (s *resolution) mcpApprovals() (list []mcpApproval) {
	for _, it := range s.body.calls() {
		if s.plan.Aborted == nil && it.approved() {
			id, label := it.callID(), it.entry.server
			list = append(list, mcpApproval{
				ID: id, Key: s.body.responseID() + " " + id, Label: label, Address: s.body.offers().address(label, s.req.Field("prompt")),
			})
		}
	}
	return list
}

// approved reports whether a call is one of a hosted MCP tool that people approved.
func (it *item) approved() bool {
	return it.call.form.typ == approvalRequest && it.ruling().Action == intercept.Release
}

// withdrawUsed takes back the approvals that were given to an earlier request for the
// same answer, and went upstream with the continuation of it.
func (s *resolution) withdrawUsed() {
	if s.fetch() != nil {
		return
	}
	for _, it := range s.body.calls() {
		if it.recalled && it.approved() {
			it.Rule(intercept.Ruling{ModelMessage: approvedBefore})
		}
	}
}
