package messages

import (
	"bytes"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// shapes are the forms of the last few deltas of a stream. An event of a known
// shape needs no decoder.
type shapes struct {
	known [4]shape
	next  int // which to forget first
	texts [][]byte
}

// shape is a form with the meaning of its slot.
type shape struct {
	intercept.Shape
	block *block
	about []*block
	named bool
	text  *intercept.Rope // what grows; nil for the input of a call
}

// known takes a part of a known shape.
func (a *answer) known(part []byte) (bool, error) {
	payload, named, ok := lone(part)
	if !ok || a.recasts() {
		return false, nil
	}
	for i := range a.shapes.known {
		s := &a.shapes.known[i]
		texts, ok := s.Match(payload, a.shapes.texts[:0])
		a.shapes.texts = texts[:0]
		if !ok {
			continue
		}
		if s.named != named || s.block != a.last() || s.block.ended || a.done {
			return false, nil
		}
		if s.text == nil {
			return a.knownInput(s, part, texts[0])
		}
		if err := a.hear(len(texts[0])); err != nil {
			return true, err
		}
		s.text.Add(texts[0])
		if a.holding() {
			return true, a.hold(part, s.about)
		}
		a.out.Add(part)
		return true, nil
	}
	return false, nil
}

// knownInput takes a further piece of the input of a call, which is held or passes.
// What passes is what was uniform when the shape was learned.
func (a *answer) knownInput(s *shape, part, piece []byte) (bool, error) {
	c := s.block.call
	if c.passed == a.holding() || c.passed != (c.check != nil) || a.stop != "" || a.over || a.mixed() {
		return false, nil
	}
	if err := a.hear(len(piece)); err != nil {
		return true, err
	}
	before := c.fragments.Len()
	intercept.Unquote(&c.fragments.Builder, piece)
	if c.passed && c.check.Add(c.fragments.Builder.String()[before:]) == nil {
		a.out.Add(part)
		return true, nil
	}
	c.interrupt()
	return true, a.hold(part, s.about)
}

// lone returns the payload of a part that is one event, with its name or without,
// and nothing else. Its last brace and the blanks before it are left out: the
// provider pads its events with a varying number of them.
func lone(part []byte) (payload []byte, named, ok bool) {
	if payload, named = intercept.Single(part, "content_block_delta"); !named {
		if payload, ok = intercept.Single(part, ""); !ok {
			return nil, false, false
		}
	}
	open, ok := bytes.CutSuffix(bytes.TrimRight(payload, " "), []byte("}"))
	return bytes.TrimRight(open, " "), named, ok
}

// learnShape remembers the shape of a part that was just decoded: a lone delta
// of the block that opened last, without a doubt.
func (p *passage) learnShape() {
	if len(p.events) != 1 || p.events[0].kind != kindBlockDelta || p.recasts() {
		return
	}
	d, b := p.events[0].delta, p.about[0]
	payload, named, ok := lone(p.part)
	if !ok || b == nil || b != p.answer.last() || b.ended || len(d.fields) != 1 || d.citation != "" {
		return
	}
	s := shape{block: b, about: p.about, named: named}
	if b.call != nil {
		if !d.input || len(b.call.Doubts) > 0 || !b.call.empty() || b.call.given != "" && b.call.given != "{}" {
			return
		}
	} else {
		s.text = b.grow(d.fields[0].field).text
	}
	piece := d.fields[0].piece
	if piece.Type != gjson.String {
		return
	}
	at := gjson.GetBytes(payload, "delta."+gjson.Escape(d.fields[0].field))
	if at.Raw != piece.Raw {
		return
	}
	s.Shape = intercept.NewShape(payload, []intercept.Span{intercept.Inner(at)})
	p.shapes.known[p.shapes.next] = s
	p.shapes.next = (p.shapes.next + 1) % len(p.shapes.known)
}
