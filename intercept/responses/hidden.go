package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// record is what heldcall remembers of an answer whose agent saw less, or other,
// than the model said. Items are kept as the text they were sent as, so that each
// splice is the same bytes.
type record struct {
	intercept.Seen
	Rounds []round `json:"rounds,omitempty"`
	// Response is the id by which the agent knows the answer, Chain those by which
	// upstream knows its parts.
	Response     string   `json:"response,omitempty"`
	Chain        []string `json:"chain,omitempty"`
	Conversation string   `json:"conversation,omitempty"`
	// Missing are the items that upstream needs before it goes on from what it
	// keeps: outputs of calls that the agent never saw.
	Missing []string `json:"missing,omitempty"`
	// Ran are the arguments that ran, by call id, where upstream keeps others.
	Ran map[string]string `json:"ran,omitempty"`
	// Ruled is what became of the calls that were judged, for whoever asks for the
	// answer again.
	Ruled []ruled `json:"ruled,omitempty"`
	// Grants are the approvals among what is missing, each for one request.
	Grants []grant `json:"grants,omitempty"`
	// Made are the calls that the provider has run because they were approved, each by
	// the id of the question.
	Made map[string]hostedRun `json:"hosted_runs,omitempty"`
	// Spent is the approval that a request has used, where the record is of that.
	Spent string `json:"spent,omitempty"`
	// Told are the answers of a conversation whose missing items upstream has got.
	Told []string `json:"told,omitempty"`
}

// round is one answer of upstream: the whole of what the model said, and what it
// was told by heldcall.
type round struct {
	Items   []part   `json:"items"`
	Outputs []string `json:"outputs,omitempty"`
}

// part is one output item. What the agent saw is known again by its ids and text.
type part struct {
	Seen    bool   `json:"seen,omitempty"`
	Raw     string `json:"raw,omitempty"` // as the model made it; of what was seen, only where agents may leave it out or change it
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Call    string `json:"call,omitempty"`
	Name    string `json:"name,omitempty"`
	Text    string `json:"text,omitempty"`
	Sealed  string `json:"sealed,omitempty"`  // fingerprint of its encrypted content
	Unknown bool   `json:"unknown,omitempty"` // to upstream: heldcall has made it
}

// ruled is the ruling on a call.
type ruled struct {
	Call      string         `json:"call"` // fingerprint
	Fate      intercept.Fate `json:"fate"`
	Arguments string         `json:"arguments,omitempty"`
	Told      string         `json:"told,omitempty"`
}

func (rec *record) encode() ([]byte, error) { return json.Marshal(rec) }

// sealed is the fingerprint of the encrypted content of a reasoning item.
func sealed(item gjson.Result) string {
	if content := item.Get("encrypted_content").Str; content != "" {
		return intercept.Fingerprint(content)
	}
	return ""
}

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
		s.ruled = append(s.ruled, ruled{Call: it.mark(), Fate: r.Fate, Arguments: r.Arguments, Told: r.Told})
	}
}

// round is the turn with the outputs that the model gets of heldcall.
func (s *resolution) round(outputs []string) round {
	r := round{Outputs: outputs}
	asks := false
	for _, it := range s.items {
		asks = asks || it.entry.Type == wire.ApprovalRequest
	}
	for _, it := range s.items {
		if it.call != nil && it.Void {
			continue
		}
		p := part{Seen: s.reaches(it), Type: it.entry.Type, ID: it.entry.ID, Text: it.entry.Message(), Sealed: sealed(gjson.Parse(it.entry.Raw))}
		if it.call != nil {
			p.Call, p.Name = it.callID(), it.entry.Name
		}
		switch ran := it.ruling(); {
		case !p.Seen || p.Type == "message" || asks && p.Type == "reasoning":
			p.Raw = it.made()
		case ran.Fate == intercept.Edit:
			p.Raw = it.entry.WithInput(it.call.form, ran.Arguments)
		}
		r.Items = append(r.Items, p)
	}
	return r
}

// interim is the record of an answer that goes on: whoever asks for it again must
// not be asked about its calls once more.
func (s *resolution) interim() *record {
	if s.head.ID == "" {
		return nil
	}
	return &record{Response: gjson.Parse(s.head.ID).Str, Chain: s.chain, Ruled: s.ruled}
}

// again is the record of an answer that hides nothing, for an agent that asks for
// it once more: nobody is to be asked about its calls a second time.
func (s *resolution) again() *record {
	if s.plan.Aborted != nil || len(s.ruled) == 0 || !s.retrievable() {
		return nil
	}
	return &record{Response: gjson.Parse(s.head.ID).Str, Ruled: s.ruled}
}

// hides reports whether the agent sees less than the model said, or other.
func (s *resolution) hides() bool {
	for _, it := range s.items {
		if it.call != nil && !it.Void && (!s.reaches(it) || it.ruling().Fate == intercept.Edit) {
			return true
		}
	}
	return len(s.rounds) > 0
}

// record describes what the agent did not see, for the later requests of the
// conversation. An answer whose calls all went on unchanged in the first turn
// needs none.
func (s *resolution) record() *record {
	if s.req.verb.beside() {
		return nil
	}
	rec := &record{}
	if !s.failed && s.object != nil && !s.object.Pending() {
		rec.Told = s.req.known.told
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
		rec.Conversation = s.req.conversation()
	}
	if hidden {
		rec.Rounds = append(append([]round(nil), s.rounds...), last)
	}
	if s.plan.Notice != "" && hidden {
		rec.Rounds = append(rec.Rounds, round{Items: []part{{Seen: true, Raw: s.noticeMessage(s.plan.Notice), Type: "message", ID: s.noticeID(), Text: s.plan.Notice, Unknown: true}}})
		rec.Missing = append(rec.Missing, `{"type":"message","role":"assistant","content":`+intercept.Quote(s.plan.Notice)+"}")
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
func (s *resolution) seen(rec *record, last round) {
	rec.Turn = s.limits.TurnID
	rec.Before, rec.Opening, rec.Text = s.req.ending(), intercept.Opening(s.req.opening()), s.text+s.said()
	for _, r := range append(append([]round(nil), s.rounds...), last) {
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
		c := seenCall(it.entry.Type, it.entry.CallID, it.entry.Name, it.input())
		if r := it.ruling(); r.Fate == intercept.Edit {
			c = seenCall(it.entry.Type, it.entry.CallID, it.entry.Name, r.Arguments)
			c.Note = r.Told
			if rec.Ran == nil {
				rec.Ran = make(map[string]string)
			}
			rec.Ran[it.callID()] = r.Arguments
		}
		rec.Calls = append(rec.Calls, c)
	}
}

// seenCall is a call that the agent saw or shows. Only the input of those of
// functions stands in one place that agents do not write anew.
func seenCall(typ, id, name, input string) intercept.SeenCall {
	if typ != "function_call" && typ != "custom_tool_call" {
		return intercept.SeenCall{ID: id, Name: name}
	}
	return intercept.NewSeenCall(id, name, input)
}
