package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// slots are the meaning of a template's slots: text of one choice, or a fragment of
// arguments.
type slots struct {
	body   *upstreamBody
	choice *choice
	call   *call    // the call of the fragment, nil for text
	fields []string // by slot: the field of the message, "" for one that is not kept
	text   bool     // it is text for the user
}

// form is the form of the part, without slots for none.
func (p *eventBatch) form() (t intercept.Template) {
	d, units := p.only(), p.part.Units()
	if d == nil || p.out.continuing || len(units) > 1 {
		return t
	}
	s := &slots{body: p.body, choice: p.body.known(d.index), text: d.contents}
	t.Units, t.Repeater = units, s
	switch {
	case len(units) == 0:
		t.Overtakes, t.Slots = d.contents, s.texts(d, p.part.Payloads[0])
	case p.part.Spent:
		t.Call, s.call = units[0], callOf(units[0])
		t.Slots = d.arguments(t.Call, p.part.Payloads[0])
	}
	return t
}

// only returns the part's one delta, nil if it has more than text and fragments.
func (p *eventBatch) only() *choiceDelta {
	if len(p.chunks) != 1 || len(p.chunks[0].choices) != 1 || p.chunks[0].failed || p.chunks[0].usage != "" {
		return nil
	}
	if d := &p.chunks[0].choices[0]; d.finish == "" && !d.role && !d.logprobs.IsObject() {
		return d
	}
	return nil
}

// arguments finds the arguments of a delta with one fragment, which continues a call
// that is not ambiguous.
func (d *choiceDelta) arguments(u *intercept.Unit, payload []byte) []strictjson.Span {
	if d.calls[0].name != "" || d.calls[0].id != "" || callOf(u).kind != kindFunction || len(u.Ambiguities) > 0 {
		return nil
	}
	text := gjson.GetBytes(payload, "choices.0.delta.tool_calls.0.function.arguments")
	if text.Type != gjson.String {
		return nil
	}
	return []strictjson.Span{strictjson.Inner(text)}
}

// texts finds the strings of a delta that are text, and the random padding that OpenAI
// puts beside them.
func (s *slots) texts(d *choiceDelta, payload []byte) (spans []strictjson.Span) {
	for _, t := range d.texts {
		switch {
		case t.place != inDelta:
			return nil
		case t.value.Type == gjson.String:
			s.fields = append(s.fields, t.field)
			spans = append(spans, strictjson.Inner(t.value))
		case t.field == "audio" && onlySound(t.value):
			t.value.ForEach(func(k, v gjson.Result) bool {
				s.fields = append(s.fields, map[string]string{"transcript": spokenField}[k.Str])
				spans = append(spans, strictjson.Inner(v))
				return true
			})
		default:
			return nil
		}
	}
	if pad := gjson.GetBytes(payload, "obfuscation"); pad.Type == gjson.String && len(spans) > 0 {
		if span := strictjson.Inner(pad); span.Start > spans[len(spans)-1].End {
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

// spent reports whether nothing of the part goes out: it has only more of calls that have begun
// before it.
func (p *eventBatch) spent() bool {
	d := p.only()
	return d != nil && len(d.calls) > 0 && len(d.texts) == 0 && !p.opens && !p.part.Last && p.chunks[0].rest(&p.out.head, false) == ""
}

// Repeat implements [intercept.Repeater].
func (s *slots) Repeat(texts [][]byte, held bool) (added string, size int, ok bool) {
	switch {
	case s.call != nil:
		if s.call != s.body.latest || s.choice.finished || s.body.done {
			return "", 0, false
		}
		added = s.call.args.AddEscaped(texts[0])
		return added, len(added), true
	case held && (s.choice.textHeld || !s.text):
		return "", 0, false
	}
	for slot, field := range s.fields {
		if field != "" {
			size += s.choice.messages[inDelta].addEscaped(field, texts[slot])
		}
	}
	return "", size, true
}
