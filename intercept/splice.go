package intercept

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// History is the array of items that an agent sends as the conversation. Hidden turns are put back into it at anchors,
// which are items of the agent. All bytes are kept but those of items that change.
type History struct {
	Items   []gjson.Result
	Raw     []byte
	key     func(item gjson.Result) string
	anchors map[int]*HiddenPart // by the place of the item; the place after the last item is the end
	placed  []Placement
}

// HiddenPart is what an agent does not show at an anchor.
type HiddenPart struct {
	Before, After []string // items around the anchor
	Replace       []string // items in place of the anchor; nil: it stays
	Notes         Notes    // for results after the anchor
}

// Note adds notes.
func (p *HiddenPart) Note(notes Notes) {
	if p.Notes == nil && len(notes) > 0 {
		p.Notes = make(Notes)
	}
	maps.Copy(p.Notes, notes)
}

// Notes are texts before the results of edited calls, by the id of the call.
type Notes map[string]string

// Take returns the note on a call, once; "" for none.
func (n Notes) Take(call string) string {
	note := n[call]
	delete(n, call)
	return note
}

// NotesOn are the notes on the calls of an answer, also empty ones: ids repeat, and a note on an earlier call must not
// count. The calls as the agent shows them have ids where upstream gave none. A call without any id is known by its name.
func (s *TurnFingerprint) NotesOn(shown []gjson.Result) Notes {
	notes := make(Notes)
	for i, c := range s.Calls {
		id := c.ID
		if id == "" && i < len(shown) {
			id = shown[i].Get("id").Str
		}
		if id == "" && c.Note != "" {
			id = c.Name
		}
		notes[id] = c.Note
	}
	return notes
}

// Annotate is the result of a call with the note on the call before its content, which is in a field.
func (n Notes) Annotate(result gjson.Result, call, field string) string {
	note := n.Take(call)
	if note == "" {
		return result.Raw
	}
	p := strictjson.Patch{JSON: result.Raw}
	if p.Set(field, strictjson.Annotated(result.Get(field), note)); p.Err != nil {
		return result.Raw
	}
	return p.JSON
}

// At is the anchor at a place.
func (h *History) At(place int) *HiddenPart {
	if h.anchors == nil {
		h.anchors = make(map[int]*HiddenPart)
	}
	if h.anchors[place] == nil {
		h.anchors[place] = new(HiddenPart)
	}
	return h.anchors[place]
}

// Place notes that the answer of a record is in the history: see [Found].
func (h *History) Place(s *TurnFingerprint, sure, unique bool) {
	h.placed = append(h.placed, Placement{Turn: s.Turn, Sure: sure, Unique: unique})
}

// Changed reports whether something is put back.
func (h *History) Changed() bool { return len(h.anchors) > 0 }

// before is the key of the last item before a place that has one.
func (h *History) before(place int) string {
	for _, item := range slices.Backward(h.Items[:place]) {
		if key := h.key(item); key != "" {
			return key
		}
	}
	return ""
}

// Turns are the messages of the assistant in a history of messages. Read reads one.
func (h *History) Turns(read func(m gjson.Result) HistoryTurn) (turns []HistoryTurn) {
	for place, m := range h.Items {
		if m.Get("role").Str == "assistant" {
			turn := read(m)
			turn.Before, turn.First, turn.Last = h.before(place), place, place
			turns = append(turns, turn)
		}
	}
	return turns
}

// Render is the array with the hidden parts. Item renders an item that is not replaced, with the notes that its results
// may take.
func (h *History) Render(item func(place int, item gjson.Result, notes Notes) string) []byte {
	out := make([]byte, 0, len(h.Raw)+len(h.Raw)/4)
	notes, unchanged := make(Notes), HiddenPart{}
	end := 0 // of the bytes that were copied
	for place, shown := range h.Items {
		part := cmp.Or(h.anchors[place], &unchanged)
		maps.Copy(notes, part.Notes)
		items := part.Replace
		if items == nil {
			items = []string{item(place, shown, notes)}
		}
		out = append(out, h.Raw[end:shown.Index]...)
		out = append(out, strings.Join(slices.Concat(part.Before, items, part.After), ",")...)
		end = shown.Index + len(shown.Raw)
	}
	out = append(out, h.Raw[end:]...)
	if part := h.anchors[len(h.Items)]; part != nil {
		out = strictjson.AppendItems(out, slices.Concat(part.Before, part.After)...)
	}
	return out
}

// MatchedTurn is an answer that was found in a history.
type MatchedTurn[R Remembered] struct {
	Found
	Turn   HistoryTurn
	Answer R
}

// MatchTurns finds the answers of records among the turns of a history. Turns may overlap, but not those that are found:
// a turn that surely is an answer comes first.
func MatchTurns[R Remembered](opening UserText, turns []HistoryTurn, records []R) (matched []MatchedTurn[R]) {
	fingerprints := make([]*TurnFingerprint, 0, len(records))
	for _, rec := range records {
		fingerprints = append(fingerprints, rec.seen())
	}
	answers := Match(Opening(opening.String()), turns, fingerprints)
	taken := make(map[int]bool)
	for _, sure := range []bool{true, false} {
		for _, place := range slices.Sorted(maps.Keys(answers)) {
			found, turn := answers[place], turns[place]
			if found.Sure != sure || turn.overlaps(taken) {
				continue
			}
			for i := turn.First; i <= turn.Last; i++ {
				taken[i] = true
			}
			matched = append(matched, MatchedTurn[R]{found, turn, records[found.Record]})
		}
	}
	slices.SortFunc(matched, func(a, b MatchedTurn[R]) int { return a.Turn.First - b.Turn.First })
	return matched
}

func (t *HistoryTurn) overlaps(taken map[int]bool) bool {
	for i := t.First; i <= t.Last; i++ {
		if taken[i] {
			return true
		}
	}
	return false
}
