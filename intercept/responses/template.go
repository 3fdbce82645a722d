package responses

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// slots are the meaning of a template's slots: a piece of text, or of a call's input.
type slots struct {
	answer *answer
	item   *item
	number int    // the slot with the sequence number, -1 for none
	delta  int    // the slot with the text
	piece  *piece // of the input of a call, nil for any other text
}

// form is the form of the part, without slots for none.
func (a *answer) form(p *intercept.Part) (t intercept.Template) {
	if len(a.batch.events) != 1 || len(p.Units()) != 1 || p.Units()[0] == nil || a.out.continued {
		return t
	}
	e, it := a.batch.events[0], itemOf(p.Units()[0])
	s := &slots{answer: a, item: it, number: -1}
	switch {
	case it.done || e.slots[1].Type != gjson.String:
		return t
	case it.call != nil && !it.repeats(e):
		return t
	case it.call != nil:
		s.piece, t.Call = it.call.piece(e.input.path), &it.Unit
	case e.kind != kindBeside:
		return t
	}
	t.Name, t.Units, t.Repeater, t.Slots = e.typ, p.Units(), s, s.find(e)
	return t
}

// repeats reports whether an event of a call is a fragment of its input, and further
// ones of its form need no decoder.
func (it *item) repeats(e *event) bool {
	return e.kind == kindInput && e.input.fragment && e.name == "" && len(it.Ambiguities) == 0
}

// find returns the parts of an event that differ from one event of its form to the next:
// the text, the sequence number, and the random padding that OpenAI adds.
func (s *slots) find(e *event) (spans []strictjson.Span) {
	for _, v := range e.slots {
		switch {
		case v.Type == gjson.String:
			spans = append(spans, strictjson.Inner(v))
		case v.Type == gjson.Number:
			spans = append(spans, strictjson.Span{Start: v.Index, End: v.Index + len(v.Raw)})
		}
	}
	delta := strictjson.Inner(e.slots[1])
	slices.SortFunc(spans, func(a, b strictjson.Span) int { return cmp.Compare(a.Start, b.Start) })
	for i, span := range spans {
		switch {
		case span == delta:
			s.delta = i
		case e.slots[0].Type == gjson.Number && span.Start == e.slots[0].Index:
			s.number = i
		}
	}
	return spans
}

// Repeat implements [intercept.Repeater].
func (s *slots) Repeat(texts [][]byte, held bool) (added string, size int, ok bool) {
	b, out := &s.answer.body, &s.answer.out
	if s.item.done || b.closed || b.doneMark || (!held && !out.verbatim()) {
		return "", 0, false
	}
	if s.piece != nil && s.piece.complete {
		return "", 0, false // the decoder notes that the input went on
	}
	if s.number >= 0 {
		n, err := strconv.ParseUint(string(texts[s.number]), 10, 31) // as [intercept.Reading.Number]
		if err != nil {
			return "", 0, false // the decoder finds out why
		}
		if !held {
			out.next = int64(n) + 1
		}
	}
	if s.piece == nil {
		return "", 0, true
	}
	added = s.piece.fragments.AddEscaped(texts[s.delta])
	s.piece.fragmented = s.piece.fragmented || added != ""
	return added, len(added), true
}
