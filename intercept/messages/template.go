package messages

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Template implements [intercept.Codec]: a lone delta of the block that opened last has
// a form that is likely to come again, unless the block is ambiguous.
func (a *answer) Template(part *intercept.Part) (t intercept.Template, slots []strictjson.Span) {
	d, b := a.loneDelta(part)
	if b == nil || d.fields[0].piece.Type != gjson.String {
		return t, nil
	}
	grown := d.fields[0]
	switch {
	case b.call == nil && a.body.released: // the number may change
		return t, nil
	case b.call == nil:
		g, _ := b.grow(grown.field)
		t.Of = g.text
	case d.input && len(b.Ambiguities) == 0 && (b.call.given == "" || b.call.given == "{}"):
		t.Call = &b.Unit
	default:
		return t, nil
	}
	field := gjson.GetBytes(part.Payloads[0], "delta."+gjson.Escape(grown.field))
	if field.Raw != grown.piece.Raw {
		return t, nil
	}
	t.Name, t.Units = "content_block_delta", part.Units()
	return t, []strictjson.Span{strictjson.Inner(field)}
}

// loneDelta returns the delta of a part, if that is all of it and has one field, and its block, if that is the last one that
// opened; else nil.
func (a *answer) loneDelta(part *intercept.Part) (*delta, *block) {
	if len(a.body.events) != 1 || a.body.events[0].kind != kindBlockDelta || a.body.rewrites() {
		return nil, nil
	}
	d, b := a.body.events[0].delta, blockOf(part.Units()[0])
	if b == nil || !a.body.blocks.growing(b) || len(d.fields) != 1 || d.citation != "" {
		return nil, nil
	}
	return d, b
}

// Repeat implements [intercept.Codec].
func (a *answer) Repeat(t *intercept.Template, texts [][]byte, _ bool) (added string, size int, ok bool) {
	b := blockOf(t.Units[0])
	if !a.body.blocks.growing(b) || a.body.rewrites() || a.body.progress.stopped() {
		return "", 0, false
	}
	if text, grows := t.Of.(*strictjson.Rope); grows {
		text.Add(texts[0])
		return "", len(texts[0]), true
	}
	fragments := &b.call.fragments
	length := fragments.Len()
	strictjson.Unquote(&fragments.Builder, texts[0])
	return fragments.Builder.String()[length:], len(texts[0]), true
}
