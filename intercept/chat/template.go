package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// slots are the meaning of a template's slots: text of one choice, or a fragment of
// arguments.
type slots struct {
	choice *choice
	fields []string // by slot: the field of the message, "" for one that nobody keeps
	words  bool     // it is something for the user
}

// Template implements [intercept.Codec].
func (a *answer) Template(p *intercept.Part) (t intercept.Template, spans []strictjson.Span) {
	chunks, units := a.batch.chunks, p.Units()
	if len(chunks) != 1 || len(chunks[0].Choices) != 1 || chunks[0].Failed || chunks[0].Usage != "" || a.continuing != nil {
		return t, nil
	}
	d := &chunks[0].Choices[0]
	if d.Finish != "" || d.Role || d.Logprobs.IsObject() {
		return t, nil
	}
	s := &slots{choice: a.known(d.Index), words: d.Contents}
	t.Units, t.Overtakes, t.Of = units, d.Contents, s
	payload := p.Payloads[0]
	switch {
	case len(units) == 1 && len(d.Texts) == 0 && !a.batch.opens && d.Calls[0].Name == "" && d.Calls[0].ID == "":
		args := gjson.GetBytes(payload, "choices.0.delta.tool_calls.0.function.arguments")
		if c := callOf(units[0]); args.Type != gjson.String || c.kind != wire.KindFunction || len(c.Ambiguities) > 0 {
			return t, nil
		}
		t.Call, t.Overtakes = units[0], false
		return t, []strictjson.Span{strictjson.Inner(args)}
	case len(units) == 0:
		return t, s.texts(d, payload)
	}
	return t, nil
}

// texts finds the strings of a delta that carry text, and the random padding that
// OpenAI puts beside them.
func (s *slots) texts(d *wire.ChoiceDelta, payload []byte) (spans []strictjson.Span) {
	for _, t := range d.Texts {
		switch {
		case t.Place != wire.InDelta:
			return nil
		case t.Value.Type == gjson.String:
			s.fields = append(s.fields, t.Field)
			spans = append(spans, strictjson.Inner(t.Value))
		case t.Field == "audio" && onlySound(t.Value):
			t.Value.ForEach(func(k, v gjson.Result) bool {
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

// Repeat implements [intercept.Codec]. What passes of a call is what was uniform when
// the form was learned.
func (a *answer) Repeat(t *intercept.Template, texts [][]byte, held bool) (added string, size int, ok bool) {
	s := t.Of.(*slots)
	switch {
	case a.continuing != nil:
		return "", 0, false
	case t.Call != nil:
		c := callOf(t.Call)
		if c != a.latest || s.choice.announced || a.done {
			return "", 0, false
		}
		before := c.args.Len()
		strictjson.Unquote(&c.args.Builder, texts[0])
		added = c.args.Builder.String()[before:]
		return added, len(added), true
	case held && (s.choice.textHeld || !s.words):
		return "", 0, false
	}
	for slot, field := range s.fields {
		if field != "" {
			size += s.choice.says[wire.InDelta].addEscaped(field, texts[slot])
		}
	}
	return "", size, true
}
