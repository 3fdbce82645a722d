package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// shapes are the forms of the last few events of a stream: text of one choice,
// or a fragment of arguments. An event of a known shape needs no decoder.
type shapes struct {
	known [4]shape
	next  int // which to forget first
	texts [][]byte
}

// shape is a form with the meaning of its slots.
type shape struct {
	intercept.Shape
	choice *choice
	fields []string // by slot: the field of the message, "" for one that nobody keeps
	words  bool     // it is something for the user
	call   *call    // the one slot is a fragment of this call's arguments
	refs   []ref    // to the call
}

// known takes a part of a known shape.
func (a *answer) known(part []byte) (bool, error) {
	payload, ok := intercept.Single(part, "")
	if !ok {
		return false, nil
	}
	for i := range a.shapes.known {
		s := &a.shapes.known[i]
		texts, ok := s.Match(payload, a.shapes.texts[:0])
		a.shapes.texts = texts[:0]
		if !ok {
			continue
		}
		if s.call != nil {
			return a.knownArguments(s, part, texts[0])
		}
		if a.holding() && (s.choice.textHeld || !s.words) {
			return false, nil
		}
		for slot, field := range s.fields {
			if field != "" {
				if err := a.hear(s.choice.says[inDelta].addEscaped(field, texts[slot])); err != nil {
					return true, err
				}
			}
		}
		a.out.Add(part)
		return true, nil
	}
	return false, nil
}

// knownArguments takes a further fragment of a call, which is held or passes. What
// passes is what was uniform when the shape was learned.
func (a *answer) knownArguments(s *shape, part, fragment []byte) (bool, error) {
	c := s.call
	if c.passed == a.holding() || c.passed != (c.check != nil) || c != a.latest || s.choice.announced || a.done {
		return false, nil
	}
	before := c.args.Len()
	intercept.Unquote(&c.args.Builder, fragment)
	if err := a.hear(c.args.Len() - before); err != nil {
		return true, err
	}
	if c.passed && c.check.Add(c.args.Builder.String()[before:]) == nil {
		a.out.Add(part)
		return true, nil
	}
	c.interrupt()
	return true, a.hold(part, s.refs)
}

// learn remembers the shape of a part that was just decoded.
func (p *passage) learn() {
	payload, ok := intercept.Single(p.part, "")
	if !ok || len(p.chunks) != 1 || len(p.chunks[0].choices) != 1 || p.chunks[0].failed || p.chunks[0].usage != "" {
		return
	}
	d := &p.chunks[0].choices[0]
	if d.finish != "" || d.role || d.logprobs.IsObject() {
		return
	}
	s := shape{words: d.contents}
	var spans []intercept.Span
	switch {
	case len(p.refs) == 1 && len(d.texts) == 0 && !p.refs[0].opened && d.calls[0].name == "" && d.calls[0].id == "":
		spans = p.argumentSlot(&s, payload)
	case len(p.refs) == 0:
		spans = p.textSlots(&s, d, payload)
	}
	if spans == nil {
		return
	}
	s.Shape = intercept.NewShape(payload, spans)
	c, err := p.answer.choice(d.index)
	if err != nil {
		return
	}
	s.choice = c
	p.shapes.known[p.shapes.next] = s
	p.shapes.next = (p.shapes.next + 1) % len(p.shapes.known)
}

// argumentSlot finds the arguments of a lone fragment that continues a call
// without doubt.
func (p *passage) argumentSlot(s *shape, payload []byte) []intercept.Span {
	args := gjson.GetBytes(payload, "choices.0.delta.tool_calls.0.function.arguments")
	if args.Type != gjson.String || p.refs[0].call.kind != kindFunction || len(p.refs[0].call.Doubts) > 0 {
		return nil
	}
	s.call = p.refs[0].call
	s.refs = []ref{{call: s.call}}
	s.fields = []string{""}
	return []intercept.Span{intercept.Inner(args)}
}

// textSlots finds the strings of a delta that carry text, and the random
// padding that OpenAI puts beside them.
func (p *passage) textSlots(s *shape, d *choiceDelta, payload []byte) (spans []intercept.Span) {
	for _, t := range d.texts {
		switch {
		case t.place != inDelta:
			return nil
		case t.value.Type == gjson.String:
			s.fields = append(s.fields, t.field)
			spans = append(spans, intercept.Inner(t.value))
		case t.field == "audio" && onlySound(t.value):
			t.value.ForEach(func(k, v gjson.Result) bool {
				s.fields = append(s.fields, map[string]string{"transcript": spokenField}[k.Str])
				spans = append(spans, intercept.Inner(v))
				return true
			})
		default:
			return nil
		}
	}
	if pad := gjson.GetBytes(payload, "obfuscation"); pad.Type == gjson.String && len(spans) > 0 {
		if span := intercept.Inner(pad); span.Start > spans[len(spans)-1].End {
			s.fields = append(s.fields, "")
			spans = append(spans, span)
		}
	}
	for _, span := range spans {
		if span.Start <= 0 || span.End > len(payload) || payload[span.Start-1] != '"' {
			return nil
		}
	}
	return spans
}
