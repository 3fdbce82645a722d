package history

import (
	"maps"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Splice implements [intercept.Request]. What upstream keeps is gone on from by
// the id that upstream knows, with the outputs that it lacks; what the agent
// repeats is made whole where it stands.
func (r *Request) Splice(records [][]byte) (spliced int) {
	known := intercept.Records[Record](records)
	if r.ID != "" {
		return r.recall(known)
	}
	s := splicer{Request: r, notes: make(map[string]string), used: make(map[*Record]bool), spent: make(map[string]bool), made: make(map[string]HostedRun)}
	for _, rec := range known {
		s.spent[rec.Spent] = true
		maps.Copy(s.made, rec.Made)
	}
	s.before = append(s.before, s.follow(known)...)
	s.before = append(s.before, s.converse(known)...)
	s.weave(known)
	items := s.render()
	if len(s.placed) == 0 {
		return 0
	}
	body, err := strictjson.SetField(r.envelope.Body, "input", items)
	if err == nil && s.alias != "" {
		body, err = strictjson.SetField(body, "previous_response_id", []byte(strictjson.Quote(s.goesOn)))
	}
	if err != nil || r.rewrite(body) != nil {
		return 0
	}
	r.Known = knowledge{Alias: s.alias, Told: s.told, hidden: s.hidden, spends: s.spends}
	for _, p := range s.placed {
		r.AddPlacement(&p.record.TurnFingerprint, p.sure)
	}
	return len(s.placed)
}

// splicer rewrites the input of a request.
type splicer struct {
	*Request
	placed []placed
	alias  string // the response that the agent goes on from
	goesOn string // what upstream calls it
	before []string
	woven  map[int][]string  // what stands in place of an item, by its place
	notes  map[string]string // what stands before the output of an edited call
	told   []string
	hidden map[string]bool
	used   map[*Record]bool
	spent  map[string]bool      // approvals that a request has used
	made   map[string]HostedRun // what the provider ran of what was approved
	spends []intercept.OneTimeApproval
}

// follow takes the record of the response that the request goes on from.
func (s *splicer) follow(records []*Record) (missing []string) {
	id := s.Text("previous_response_id")
	if id == "" {
		return nil
	}
	rec := latest(records, id)
	if rec == nil {
		return nil
	}
	if last := rec.Chain; len(last) > 0 && last[len(last)-1] != id {
		s.alias, s.goesOn = id, last[len(last)-1]
	}
	if s.alias != "" || len(rec.Missing)+len(rec.Ran) > 0 {
		s.place(rec, true)
	}
	s.annotate(rec)
	return s.owed(rec)
}

// owed are the items that upstream lacks, as this request may bring them. Upstream
// keeps the questions among what they answer; a call that ran in another branch of
// the conversation did not run in this one.
func (s *splicer) owed(rec *Record) (items []string) {
	for _, item := range rec.Missing {
		items = append(items, s.once(rec, item, nil))
	}
	return items
}

// latest is the record that knows most of a response.
func latest(records []*Record, id string) (best *Record) {
	for _, rec := range records {
		if rec.Response == id && (best == nil || (len(rec.Chain) >= len(best.Chain) && len(rec.Rounds) >= len(best.Rounds))) {
			best = rec
		}
	}
	return best
}

// placed is a record of which something is in the request, and whether the request is
// surely the one that it belongs in.
type placed struct {
	record *Record
	sure   bool
}

func (s *splicer) place(rec *Record, sure bool) {
	s.placed = append(s.placed, placed{rec, sure})
	s.used[rec] = true
}

// annotate notes which arguments ran, for outputs of calls that upstream keeps as
// they were made.
func (s *splicer) annotate(rec *Record) {
	for _, c := range rec.Calls {
		if ran, ok := rec.Ran[c.ID]; ok && c.Note != "" {
			s.notes[c.ID] = intercept.ArgumentsRan(c.Note, ran)
		}
	}
}

// converse brings what is missing in a conversation that upstream keeps: once,
// because upstream keeps that too.
func (s *splicer) converse(records []*Record) (missing []string) {
	id := s.Conversation()
	if id == "" {
		return nil
	}
	told := make(map[string]bool)
	for _, rec := range records {
		for _, response := range rec.Told {
			told[response] = true
		}
	}
	for _, rec := range records {
		if rec.Conversation != id || len(rec.Missing)+len(rec.Ran) == 0 || told[rec.Response] || latest(records, rec.Response) != rec {
			continue
		}
		s.place(rec, true)
		s.annotate(rec)
		s.told = append(s.told, rec.Response)
		missing = append(missing, s.owed(rec)...)
	}
	return missing
}

// weave finds the answers that the agent repeats, and makes them whole.
func (s *splicer) weave(records []*Record) {
	var candidates []*Record
	for _, rec := range records {
		if rec.Parallel || (!s.used[rec] && len(rec.Rounds)+len(rec.Ran) > 0) {
			candidates = append(candidates, rec)
		}
	}
	if len(candidates) == 0 {
		return
	}
	items, f := s.items(), newFinder(candidates)
	echoes := f.echoes(items)
	plain := make([]intercept.HistoryTurn, len(echoes))
	for i, e := range echoes {
		plain[i] = e.HistoryTurn
	}
	found := intercept.Match(intercept.Opening(s.Opening()), plain, f.answers)
	s.woven = make(map[int][]string)
	places := slices.Sorted(maps.Keys(found))
	for _, sure := range []bool{true, false} {
		for _, at := range places {
			if found[at].Sure == sure && !s.overlaps(&echoes[at]) {
				s.weaveInto(&echoes[at], candidates[found[at].Record], sure)
			}
		}
	}
}

// overlaps reports whether an answer has been made whole in a part of the echo.
func (s *splicer) overlaps(e *echo) bool {
	for i := e.first; i <= e.last; i++ {
		if _, woven := s.woven[i]; woven {
			return true
		}
	}
	return false
}

// weaveInto makes an answer whole that the agent repeats.
func (s *splicer) weaveInto(e *echo, rec *Record, sure bool) {
	s.place(rec, sure)
	items := s.items()
	w := weaver{splicer: s, record: rec, items: items[e.first : e.last+1], behind: items[e.first:]}
	for i, raw := range w.run() {
		s.woven[e.first+i] = raw
	}
}

// render is the input with all that changes in it. Items that do not change stay
// the bytes that they were.
func (s *splicer) render() []byte {
	raw := s.input()
	items := s.items()
	var out []byte
	at := 0
	for i, item := range items {
		texts := []string{item.Raw}
		if woven, ok := s.woven[i]; ok {
			texts = woven
		} else {
			texts[0] = s.annotated(item)
		}
		if i == 0 {
			texts = slices.Concat(s.before, texts)
		}
		out = append(out, raw[at:item.Index]...)
		if at = item.Index + len(item.Raw); len(texts) == 0 { // and the comma that would be left
			out = []byte(strings.TrimRight(string(out), ", \t\r\n"))
			if len(out) == 1 && i+1 < len(items) {
				at = items[i+1].Index
			}
		}
		out = append(out, strings.Join(texts, ",")...)
	}
	if len(items) == 0 {
		return strictjson.AppendItems(raw, s.before...)
	}
	return append(out, raw[at:]...)
}

// annotated is an output with the note of an edit before it.
func (s *splicer) annotated(item gjson.Result) string {
	if !IsOutput(item.Get("type").Str) {
		return item.Raw
	}
	id := item.Get("call_id").Str
	if id == "" {
		id = item.Get("id").Str
	}
	note := s.notes[id]
	if note == "" {
		return item.Raw
	}
	delete(s.notes, id)
	return annotate(item, note)
}
