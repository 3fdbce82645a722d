package responses

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// shapes are the forms of the last few events of a stream: a piece of text, or of
// a call's input. An event of a known shape needs no decoder.
type shapes struct {
	known [4]shape
	next  int // which to forget first
	texts [][]byte
}

// shape is a form with the meaning of its slots.
type shape struct {
	intercept.Shape
	name   string // of the event line, "" for none
	number int    // the slot with the sequence number, -1 for none
	delta  int    // the slot with the text
	item   *item
	items  []*item // the same, as a part is kept with it
	piece  *piece  // of the input of a call, nil for any other text
}

// known takes a part of a known shape.
func (a *answer) known(part []byte) (bool, error) {
	for i := range a.shapes.known {
		s := &a.shapes.known[i]
		if s.item == nil {
			continue
		}
		payload, ok := intercept.Single(part, s.name)
		if !ok {
			continue
		}
		texts, ok := s.Match(payload, a.shapes.texts[:0])
		a.shapes.texts = texts[:0]
		if !ok {
			continue
		}
		return a.knownEvent(s, part, texts)
	}
	return false, nil
}

func (a *answer) knownEvent(s *shape, part []byte, texts [][]byte) (bool, error) {
	if s.item.over || a.closed || a.done || (!a.holding() && !a.verbatim()) {
		return false, nil
	}
	if s.item != a.latest {
		return false, nil // the decoder notes that the items alternate
	}
	if c := s.item.call; c != nil && (c.passed == a.holding() || c.passed != (c.check != nil)) {
		return false, nil
	}
	number := int64(-1)
	if s.number >= 0 {
		var err error
		if number, err = strconv.ParseInt(string(texts[s.number]), 10, 64); err != nil || s.piece != nil && number <= a.manner.last {
			return false, nil //nolint:nilerr // the decoder finds out what it is
		}
		a.manner.last = max(a.manner.last, number)
	}
	if s.piece != nil {
		before := s.piece.fragments.Len()
		intercept.Unquote(&s.piece.fragments.Builder, texts[s.delta])
		s.piece.came = true
		if err := a.hear(s.piece.fragments.Len() - before); err != nil {
			return true, err
		}
		if c := s.item.call; c.passed && c.check.Add(s.piece.fragments.Builder.String()[before:]) != nil {
			c.interrupt()
			return true, a.kept.Hold(part, s.items, a.limits.MaxBytes)
		}
	}
	if a.holding() {
		return true, a.kept.Hold(part, s.items, a.limits.MaxBytes)
	}
	if s.number >= 0 {
		a.next = number + 1
	}
	a.out.Add(part)
	return true, nil
}

// learnShape remembers the shape of a part that was just decoded.
func (p *passage) learnShape() {
	if len(p.events) != 1 || len(p.items) != 1 || p.items[0] == nil || p.continuations > 0 {
		return
	}
	e, it := p.events[0], p.items[0]
	s := shape{name: e.typ, number: -1, item: it, items: []*item{it}}
	payload, ok := intercept.Single(p.part, s.name)
	if !ok {
		s.name = ""
		payload, ok = intercept.Single(p.part, "")
	}
	switch {
	case !ok || it.over || e.slots[1].Type != gjson.String:
		return
	case e.kind == kindInput && it.call != nil && e.input.fragment && e.name == "" && len(it.call.doubts) == 0 && !it.call.odd:
		s.piece = it.call.piece(e.input.path)
	case e.kind != kindBeside || it.call != nil:
		return
	}
	if s.Shape, ok = s.fit(payload, e); !ok {
		return
	}
	p.shapes.known[p.shapes.next] = s
	p.shapes.next = (p.shapes.next + 1) % len(p.shapes.known)
}

// fit finds what differs from one such event to the next: the text, the sequence
// number, and the random padding that OpenAI puts beside them.
func (s *shape) fit(payload []byte, e *event) (intercept.Shape, bool) {
	var spans []intercept.Span
	for _, v := range e.slots {
		switch {
		case v.Type == gjson.String:
			spans = append(spans, intercept.Inner(v))
		case v.Type == gjson.Number:
			spans = append(spans, intercept.Span{Start: v.Index, End: v.Index + len(v.Raw)})
		}
	}
	delta := intercept.Inner(e.slots[1])
	slices.SortFunc(spans, func(a, b intercept.Span) int { return cmp.Compare(a.Start, b.Start) })
	for i, span := range spans {
		if span.Start <= 0 || span.End > len(payload) || span.Start > span.End {
			return intercept.Shape{}, false
		}
		switch {
		case span == delta:
			s.delta = i
		case payload[span.Start-1] != '"':
			s.number = i
		}
	}
	return intercept.NewShape(payload, spans), true
}
