package messages

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// morePieces takes the pieces of a block that deltas of one form have.
type morePieces struct {
	body  *body
	block *block
	text  *strictjson.Rope // the field that grows, nil for the input of a call
}

// form is the form of the part, without slots for none: a lone delta of the block that opened last
// has one that is likely to come again, unless the block is ambiguous.
func (b *body) form() (t intercept.Template) {
	d, block := b.loneDelta()
	if block == nil || d.fields[0].piece.Type != gjson.String {
		return t
	}
	grown, more := d.fields[0], &morePieces{body: b, block: block}
	switch {
	case block.call == nil && b.released: // the number may change
		return t
	case block.call == nil:
		g, _ := block.grow(grown.field)
		more.text = g.text
	case d.input && len(block.Ambiguities) == 0 && (block.call.given == "" || block.call.given == "{}"):
		t.Call = &block.Unit
	default:
		return t
	}
	field := gjson.GetBytes(b.part.Payloads[0], "delta."+gjson.Escape(grown.field))
	if field.Raw == grown.piece.Raw {
		t.Name, t.Units, t.Repeater = "content_block_delta", b.part.Units(), more
		t.Slots = []strictjson.Span{strictjson.Inner(field)}
	}
	return t
}

// loneDelta returns the delta of a part, if that is all of it and has one field, and its block, if that is the last one that
// opened; else nil.
func (b *body) loneDelta() (*delta, *block) {
	if len(b.events) != 1 || b.events[0].kind != kindBlockDelta || b.rewrites() {
		return nil, nil
	}
	d, block := b.events[0].delta, blockOf(b.part.Units()[0])
	if block == nil || !b.blocks.growing(block) || len(d.fields) != 1 || d.citation != "" {
		return nil, nil
	}
	return d, block
}

// Repeat implements [intercept.Repeater].
func (p *morePieces) Repeat(texts [][]byte, _ bool) (added string, size int, ok bool) {
	if !p.body.blocks.growing(p.block) || p.body.rewrites() || p.body.progress.stopped() {
		return "", 0, false
	}
	if p.text != nil {
		p.text.Add(texts[0])
		return "", len(texts[0]), true
	}
	return p.block.call.fragments.AddEscaped(texts[0]), len(texts[0]), true
}
