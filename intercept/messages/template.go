package messages

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Template implements [intercept.Codec]: a lone delta of the block that opened last,
// without a doubt, has a form that is likely to come again.
func (a *answer) Template(p *intercept.Part) (t intercept.Template, slots []strictjson.Span) {
	if len(a.batch.events) != 1 || a.batch.events[0].kind != kindBlockDelta || a.recasts() {
		return t, nil
	}
	d, b := a.batch.events[0].delta, blockOf(p.Units()[0])
	if b == nil || b != a.last() || b.ended || len(d.fields) != 1 || d.citation != "" || d.fields[0].piece.Type != gjson.String {
		return t, nil
	}
	if c := b.call; c == nil {
		t.Of = b.grow(d.fields[0].field).text
	} else if t.Call = &b.Unit; !d.input || len(b.Ambiguities) > 0 || !c.empty() || (c.given != "" && c.given != "{}") {
		return t, nil
	}
	at := gjson.GetBytes(p.Payloads[0], "delta."+gjson.Escape(d.fields[0].field))
	if at.Raw != d.fields[0].piece.Raw {
		return t, nil
	}
	t.Name, t.Units = "content_block_delta", p.Units()
	return t, []strictjson.Span{strictjson.Inner(at)}
}

// Repeat implements [intercept.Codec]. What passes is what was uniform when the form
// was learned.
func (a *answer) Repeat(t *intercept.Template, texts [][]byte, _ bool) (added string, size int, ok bool) {
	b := blockOf(t.Units[0])
	if a.recasts() || b != a.last() || b.ended || a.done {
		return "", 0, false
	}
	if text, grows := t.Of.(*strictjson.Rope); grows {
		text.Add(texts[0])
		return "", len(texts[0]), true
	}
	if a.stop != "" || a.over || a.mixed() {
		return "", 0, false
	}
	fragments := &b.call.fragments
	before := fragments.Len()
	strictjson.Unquote(&fragments.Builder, texts[0])
	return fragments.Builder.String()[before:], len(texts[0]), true
}
