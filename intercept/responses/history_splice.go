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
	s := splicer{req: r, notes: make(map[string]string), hidden: make(map[string]bool), used: make(map[*answerRecord]bool), spent: make(map[string]bool), ran: make(map[string]hostedRun)}
	for _, rec := range remembered {
		s.spent[rec.Spent] = true
		maps.Copy(s.ran, rec.HostedRuns)
		for _, text := range rec.Decided {
			s.decided = append(s.decided, developerMessage(text))
		}
	}
	s.followResponse(remembered)
	s.followConversation(remembered)
	s.merge(remembered)
	items := s.render()
	if len(s.placed)+len(s.decided) == 0 {
		return 0
	}
	body, err := strictjson.SetField(r.outgoing.Body, r.operation.history(), items)
	if err == nil && s.alias != "" {
		body, err = strictjson.SetField(body, "previous_response_id", []byte(strictjson.Quote(s.upstreamID)))
	}
	if err != nil || r.SetBody(body) != nil {
		return 0
	}
	r.memory = memory{alias: s.alias, delivered: s.delivered, hidden: s.hidden, spends: s.spends}
	for _, p := range s.placed {
		r.AddPlacement(&p.record.TurnFingerprint, p.sure, p.unique)
	}
	return len(s.placed)
}

// splicer rewrites the input of a request.
type splicer struct {
	req        *request
	placed     []placedRecord
	alias      string                 // the response that the agent continues, where upstream has another id of it
	upstreamID string                 // that id
	missing    []string               // items that upstream lacks before the input
	decided    []string               // items about parked calls, after the outputs at the beginning of the input
	merged     map[int][]string       // the items in place of one, by its place
	notes      map[string]string      // on edited calls, before their outputs
	delivered  []string               // answers whose missing items the request brings
	hidden     map[string]bool        // items that were added, by identity
	used       map[*answerRecord]bool // records of which something is in the request
	spent      map[string]bool        // approvals that a request has used
	ran        map[string]hostedRun   // approved calls that the provider ran
	spends     []intercept.OneTimeApproval
}

// followResponse takes the record of the response that the request continues.
func (s *splicer) followResponse(records []*answerRecord) {
	id := s.req.Text("previous_response_id")
	if id == "" {
		return
	}
	rec := latest(records, id)
	if rec == nil {
		return
	}
	if end := rec.End(); end != id {
		s.alias, s.upstreamID = id, end
	}
	if s.alias != "" || rec.Lacks() {
		s.place(rec, true, true)
	}
	s.bring(rec)
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

// placedRecord is a record of which something is in the request, and whether the request is
// surely the one that it belongs in.
type placedRecord struct {
	record *answerRecord
	sure   bool
	unique bool // an id that no other conversation has shows it
}

func (s *splicer) place(rec *answerRecord, sure, unique bool) {
	s.placed = append(s.placed, placedRecord{rec, sure, unique})
	s.used[rec] = true
}

// bring adds the items of an answer that upstream lacks, as this request may bring them,
// and the arguments that ran to the outputs of calls. Upstream keeps the approval requests
// among the calls. A call that ran in another branch of the conversation did not run in
// this one.
func (s *splicer) bring(rec *answerRecord) {
	for _, c := range rec.Calls {
		if note := rec.Note(c); note != "" {
			s.note(c.ID, note)
		}
	}
	for _, item := range rec.Missing {
		s.missing = append(s.missing, s.once(rec, item, nil))
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
			s.delivered = append(s.delivered, rec.Response)
			s.bring(rec)
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
	items, f := s.req.input.list(), newFinder(candidates)
	turns := f.turns(items)
	plain := make([]intercept.HistoryTurn, len(turns))
	for i, t := range turns {
		plain[i] = t.HistoryTurn
	}
	matches := intercept.Match(intercept.Opening(s.req.Opening().String()), plain, f.answers)
	s.merged = make(map[int][]string)
	places := slices.Sorted(maps.Keys(matches))
	for _, sure := range []bool{true, false} {
		for _, place := range places {
			t := &turns[place]
			if matches[place].Sure != sure || s.overlaps(t) {
				continue
			}
			rec := candidates[matches[place].Record]
			s.place(rec, sure, matches[place].Unique)
			m := merger{splicer: s, record: rec, items: items[t.first : t.last+1], following: items[t.first:]}
			for i, texts := range m.run() {
				s.merged[t.first+i] = texts
			}
		}
	}
}

// overlaps reports whether an answer has been completed in a part of the turn.
func (s *splicer) overlaps(t *inputTurn) bool {
	for i := t.first; i <= t.last; i++ {
		if _, merged := s.merged[i]; merged {
			return true
		}
	}
	return false
}

// render is the input with all its changes. Items that do not change keep their bytes.
func (s *splicer) render() []byte {
	raw, items := s.req.input.raw, s.req.input.list()
	for _, item := range s.decided {
		s.hide(item)
	}
	if len(items) == 0 {
		return strictjson.AppendItems(raw, slices.Concat(s.missing, s.decided)...)
	}
	after := slices.IndexFunc(items, func(item gjson.Result) bool { return !isOutput(item.Get("type").Str) })
	if after < 0 {
		raw = strictjson.AppendItems(raw, s.decided...)
	}
	return intercept.RewriteItems(raw, items, func(i int, item gjson.Result) []string {
		texts, merged := s.merged[i]
		if !merged {
			texts = []string{s.annotated(item)}
		}
		if i == after {
			texts = slices.Concat(s.decided, texts)
		}
		if i == 0 {
			texts = slices.Concat(s.missing, texts)
		}
		return texts
	})
}

// hide notes an item that the agent does not know.
func (s *splicer) hide(raw string) { s.hidden[identityOf(gjson.Parse(raw))] = true }

// note adds a note to the output of an edited call.
func (s *splicer) note(callID, text string) { s.notes[callID] = text }

// annotated is an output with the note of an edit before it.
func (s *splicer) annotated(item gjson.Result) string {
	if !isOutput(item.Get("type").Str) {
		return item.Raw
	}
	id := callIDOf(item)
	note := s.notes[id]
	if note == "" {
		return item.Raw
	}
	delete(s.notes, id)
	return annotate(item, note)
}
