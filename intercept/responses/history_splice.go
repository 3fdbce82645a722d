package responses

import (
	"maps"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Splice implements [intercept.Request]. An answer that upstream keeps is continued by
// upstream's id of it, with the outputs that upstream lacks. An answer that the agent
// repeats is completed in its place.
func (r *request) Splice(records [][]byte) (spliced int) {
	remembered := intercept.Records[answerRecord](records)
	if r.id != "" {
		spliced = r.memory.recall(remembered, r.id)
		if n := len(r.memory.chain); r.operation == opCancel && n > 1 { // the last part is the one in progress
			r.outgoing = withID(r.outgoing, r.memory.chain[n-1], cancelPath)
		}
		return spliced
	}
	s := splicer{
		History: &intercept.History{Items: r.input.list(), Raw: r.input.raw}, req: r,
		memory: memory{hidden: make(map[string]bool)}, used: make(map[*answerRecord]bool), spent: make(map[string]bool), ran: make(map[string]hostedRun),
	}
	for _, rec := range remembered {
		s.spent[rec.Spent] = true
		maps.Copy(s.ran, rec.HostedRuns)
	}
	end := s.followResponse(remembered)
	s.followConversation(remembered)
	s.decide(remembered)
	s.merge(remembered)
	if !s.Changed() {
		return 0
	}
	body, err := strictjson.SetField(r.outgoing.Body, r.operation.history(), s.Render(annotated))
	if err == nil && s.memory.alias != "" {
		body, err = strictjson.SetField(body, "previous_response_id", []byte(strictjson.Quote(end)))
	}
	if err != nil || r.SetBody(body) != nil {
		return 0
	}
	r.memory = s.memory
	return r.Spliced(s.History)
}

// splicer puts hidden items back into the input of a request.
type splicer struct {
	*intercept.History
	req    *request
	memory memory                 // of the request, afterwards
	used   map[*answerRecord]bool // records of which something is in the request
	spent  map[string]bool        // approvals that a request has used
	ran    map[string]hostedRun   // approved calls that the provider ran
}

// followResponse takes the record of the response that the request continues, and returns upstream's id of its end.
func (s *splicer) followResponse(records []*answerRecord) (end string) {
	id := s.req.Text("previous_response_id")
	rec := latest(records, id)
	if id == "" || rec == nil {
		return ""
	}
	if end = rec.End(); end != id {
		s.memory.alias = id
	}
	if end != id || rec.Lacks() {
		s.place(rec, true, true)
		s.bring(rec)
	}
	return end
}

// latest is the most complete record of a response.
func latest(records []*answerRecord, id string) (best *answerRecord) {
	for _, rec := range records {
		if rec.Response == id && (best == nil || (len(rec.Chain) >= len(best.Chain) && len(rec.Rounds) >= len(best.Rounds))) {
			best = rec
		}
	}
	return best
}

func (s *splicer) place(rec *answerRecord, sure, unique bool) {
	s.Place(&rec.TurnFingerprint, sure, unique)
	s.used[rec] = true
}

// bring adds the items of an answer that upstream lacks, as this request may bring them,
// and the arguments that ran to the outputs of calls. Upstream keeps the approval requests
// among the calls. A call that ran in another branch of the conversation did not run in
// this one.
func (s *splicer) bring(rec *answerRecord) {
	first := s.At(0)
	first.Note(rec.Notes(rec.Calls))
	for _, item := range rec.Missing {
		first.Before = append(first.Before, s.once(rec, item, nil))
	}
}

// followConversation brings the missing items of a conversation that upstream keeps: once,
// because upstream keeps them too.
func (s *splicer) followConversation(records []*answerRecord) {
	id := s.req.conversation()
	if id == "" {
		return
	}
	told := make(map[string]bool)
	for _, rec := range records {
		for _, response := range rec.Delivered {
			told[response] = true
		}
	}
	for _, rec := range records {
		if rec.Conversation == id && rec.Lacks() && !told[rec.Response] && latest(records, rec.Response) == rec {
			s.place(rec, true, true)
			s.memory.delivered = append(s.memory.delivered, rec.Response)
			s.bring(rec)
		}
	}
}

// decide adds texts about parked calls after the outputs at the beginning of the input.
func (s *splicer) decide(records []*answerRecord) {
	place := slices.IndexFunc(s.Items, func(item gjson.Result) bool { return !isOutput(item.Get("type").Str) })
	if place < 0 {
		place = len(s.Items)
	}
	for _, rec := range records {
		for _, text := range rec.Decided {
			s.At(place).Before = append(s.At(place).Before, s.hide(developerMessage(text)))
		}
	}
}

// merge finds the answers that the agent repeats, and completes them.
func (s *splicer) merge(records []*answerRecord) {
	var candidates []*answerRecord
	for _, rec := range records {
		if rec.Parallel || (!s.used[rec] && len(rec.Rounds)+len(rec.Ran) > 0) {
			candidates = append(candidates, rec)
		}
	}
	if len(candidates) == 0 {
		return
	}
	for _, found := range intercept.MatchTurns(s.req.Opening(), newFinder(candidates).turns(s.Items), candidates) {
		s.place(found.Answer, found.Sure, found.Unique)
		m := merger{splicer: s, record: found.Answer, first: found.Turn.First, items: s.Items[found.Turn.First : found.Turn.Last+1]}
		m.run()
	}
}

// hide returns an item, which the agent does not know, and notes it.
func (s *splicer) hide(raw string) string {
	s.memory.hidden[identityOf(gjson.Parse(raw))] = true
	return raw
}

// annotated is an item, if it is the output of an edited call with the note before it.
func annotated(_ int, item gjson.Result, notes intercept.Notes) string {
	if !isOutput(item.Get("type").Str) {
		return item.Raw
	}
	if note := notes.Take(callIDOf(item)); note != "" {
		return annotate(item, note)
	}
	return item.Raw
}
