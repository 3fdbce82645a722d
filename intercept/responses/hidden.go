package responses

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/history"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// mark identifies a call for whoever asks for its answer again.
func (it *item) mark() string {
	return intercept.Fingerprint(it.entry.Type, it.callID(), it.entry.Namespace, it.entry.Name, it.input())
}

// remember notes the rulings of the turn, those of before among them.
func (s *resolution) remember() {
	for _, it := range s.calls() {
		r, ok := it.Ruling()
		if !ok {
			continue // passed by its name
		}
		s.ruled = append(s.ruled, history.Ruled{Call: it.mark(), Fate: r.Action, Arguments: r.Arguments, Told: r.ModelMessage})
	}
}

// round is the turn with the outputs that the model gets of heldcall.
func (s *resolution) round(outputs []string) history.Round {
	r := history.Round{Outputs: outputs}
	asks := false
	for _, it := range s.items {
		asks = asks || it.entry.Type == wire.ApprovalRequest
	}
	for _, it := range s.items {
		if it.call != nil && it.Void {
			continue
		}
		p := history.Part{Seen: s.reaches(it), Type: it.entry.Type, ID: it.entry.ID, Text: it.entry.Message(), Sealed: history.Sealed(gjson.Parse(it.entry.Raw))}
		if it.call != nil {
			p.Call, p.Name = it.callID(), it.entry.Name
		}
		switch ran := it.ruling(); {
		case !p.Seen || p.Type == "message" || (asks && p.Type == "reasoning"):
			p.Raw = it.made()
		case ran.Action == intercept.Edit:
			p.Raw = it.entry.WithInput(it.call.form, ran.Arguments)
		}
		r.Items = append(r.Items, p)
	}
	return r
}

// interim is the record of an answer that goes on: whoever asks for it again must
// not be asked about its calls once more.
func (s *resolution) interim() *history.Record {
	if s.head.ID == "" {
		return nil
	}
	return &history.Record{Response: gjson.Parse(s.head.ID).Str, Chain: s.chain, Ruled: s.ruled}
}

// again is the record of an answer that hides nothing, for an agent that asks for
// it once more: nobody is to be asked about its calls a second time.
func (s *resolution) again() *history.Record {
	if s.plan.Aborted != nil || len(s.ruled) == 0 || !s.retrievable() {
		return nil
	}
	return &history.Record{Response: gjson.Parse(s.head.ID).Str, Ruled: s.ruled}
}

// hides reports whether the agent sees less than the model said, or other.
func (s *resolution) hides() bool {
	for _, it := range s.items {
		if it.call != nil && !it.Void && (!s.reaches(it) || it.ruling().Action == intercept.Edit) {
			return true
		}
	}
	return len(s.rounds) > 0
}

// record describes what the agent did not see, for the later requests of the
// conversation. An answer whose calls all went on unchanged in the first turn
// needs none.
func (s *resolution) record() *history.Record {
	if s.req.Verb.Beside() {
		return nil
	}
	rec := &history.Record{}
	if !s.failed && s.object != nil && !s.object.Pending() {
		rec.Told = s.req.Known.Told
	}
	rec.Made = s.made
	tells := len(rec.Told)+len(rec.Made) > 0
	if !tells && s.wordsOnly() {
		return nil
	}
	hidden := s.hides()
	if !hidden && !tells {
		return nil
	}
	last := s.round(s.answers())
	s.seen(rec, last)
	rec.Ruled, rec.Chain, rec.Missing, rec.Grants = s.ruled, s.chain, last.Outputs, s.grants()
	rec.Response = gjson.Parse(s.head.ID).Str
	if id := s.responseID(); id != "" {
		rec.Chain = append(rec.Chain, id)
	}
	if s.object != nil {
		rec.Conversation = s.object.Conversation
	}
	if rec.Conversation == "" {
		rec.Conversation = s.req.Conversation()
	}
	if hidden {
		rec.Rounds = append(append([]history.Round(nil), s.rounds...), last)
	}
	if s.plan.Notice != "" && hidden {
		rec.Rounds = append(rec.Rounds, history.Round{Items: []history.Part{{Seen: true, Raw: s.noticeMessage(s.plan.Notice), Type: "message", ID: s.noticeID(), Text: s.plan.Notice, Unknown: true}}})
		rec.Missing = append(rec.Missing, `{"type":"message","role":"assistant","content":`+strictjson.Quote(s.plan.Notice)+"}")
		rec.Text += s.plan.Notice
	}
	return rec
}

// wordsOnly reports whether the agent sees all that the model made, and no call is
// in it.
func (s *resolution) wordsOnly() bool {
	for _, it := range s.items {
		if it.call != nil || it.Void {
			return false
		}
	}
	return len(s.rounds) == 0
}

// seen describes what the agent saw.
func (s *resolution) seen(rec *history.Record, last history.Round) {
	rec.Turn = s.limits.TurnID
	rec.Before, rec.Opening, rec.Text = s.req.Ending(), intercept.Opening(s.req.Opening()), s.text+s.said()
	for _, r := range append(append([]history.Round(nil), s.rounds...), last) {
		for _, p := range r.Items {
			if p.Seen && p.ID != "" {
				rec.Items = append(rec.Items, p.ID)
			}
		}
	}
	if s.plan.Notice != "" {
		rec.Items = append(rec.Items, s.noticeID())
	}
	for _, it := range s.calls() {
		if !s.reaches(it) {
			continue
		}
		c := history.SeenCall(it.entry.Type, it.entry.CallID, it.entry.Name, it.input())
		if r := it.ruling(); r.Action == intercept.Edit {
			c = history.SeenCall(it.entry.Type, it.entry.CallID, it.entry.Name, r.Arguments)
			c.Note = r.ModelMessage
			if rec.Ran == nil {
				rec.Ran = make(map[string]string)
			}
			rec.Ran[it.callID()] = r.Arguments
		}
		rec.Calls = append(rec.Calls, c)
	}
}
