package messages

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// block is one block of the content as its events have built it so far.
type block struct {
	intercept.Unit
	index     int // as upstream numbered it
	attempt   int // of the answer, from 0: see [eventBatch.restart]
	role      role
	unknown   bool   // of a type that nobody knows yet
	opened    string // as it opened
	grown     []grown
	citations []string
	call      *call // of roleCall
	ended     bool
	shown     bool // the agent has got its opening
}

// grown is what has come of a string field of a block.
type grown struct {
	field string
	text  *strictjson.Rope // JSON string contents, still escaped
	value string           // or what it has become at once, raw
}

func newBlock(o *opening, index, attempt int) *block {
	b := &block{Unit: intercept.Unit{Call: o.role == roleCall}, index: index, attempt: attempt, role: o.role, unknown: o.unknown, opened: strings.Clone(o.raw)}
	if b.Of = b; o.role == roleCall {
		b.call = newCall(o)
	}
	return b
}

// blockOf is the block that is a unit of the answer, nil for nil.
func blockOf(u *intercept.Unit) *block {
	if u == nil {
		return nil
	}
	return u.Of.(*block)
}

// add takes what an event adds. It returns how many bytes are remembered of it.
func (b *block) add(d *delta) (n int) {
	for _, g := range d.fields {
		n += len(g.piece.Raw) - len(`""`)
		if d.input && b.call != nil {
			b.input(strictjson.Fragment(g.piece))
			continue
		}
		b.grow(g.field).text.Add([]byte(g.piece.Raw[1 : len(g.piece.Raw)-1]))
	}
	for _, g := range d.values {
		n += len(g.piece.Raw)
		b.grow(g.field).value = strings.Clone(g.piece.Raw)
	}
	if d.citation != "" {
		b.citations = append(b.citations, strings.Clone(d.citation))
	}
	return n + len(d.citation)
}

func (b *block) grow(field string) *grown {
	for i := range b.grown {
		if b.grown[i].field == field {
			return &b.grown[i]
		}
	}
	b.grown = append(b.grown, grown{field: field, text: &strictjson.Rope{}})
	return &b.grown[len(b.grown)-1]
}

// text is what the block says to the user.
func (b *block) text() string {
	opened := gjson.Parse(b.opened)
	if opened.Get("type").Str != "text" {
		return ""
	}
	said := opened.Get("text").String()
	for _, g := range b.grown {
		if g.field == "text" {
			said += gjson.Parse(`"` + g.text.String() + `"`).Str
		}
	}
	return said
}

// render returns the block as it is in the content of a message. A call is rendered
// from known fields, with the given id. Of other blocks all bytes are those that
// they opened with, except for the fields that came in pieces.
func (b *block) render(id string) string {
	if c := b.call; c != nil {
		return c.block(id, asInput(c.arguments()))
	}
	p := strictjson.Patch{JSON: b.opened}
	opened := gjson.Parse(b.opened)
	for _, g := range b.grown {
		if g.field == "partial_json" {
			p.Set("input", asInput(gjson.Parse(`"`+g.text.String()+`"`).Str))
			continue
		}
		if g.value != "" {
			p.Set(gjson.Escape(g.field), g.value)
			continue
		}
		begun := opened.Get(gjson.Escape(g.field))
		before := ""
		if begun.Type == gjson.String {
			before = begun.Raw[1 : len(begun.Raw)-1]
		}
		p.Set(gjson.Escape(g.field), `"`+before+g.text.String()+`"`)
	}
	if len(b.citations) > 0 {
		before := opened.Get("citations").Raw
		if !gjson.Parse(before).IsArray() {
			before = "[]"
		}
		p.Set("citations", string(strictjson.AppendItems([]byte(before), b.citations...)))
	}
	if p.Err != nil {
		return b.opened
	}
	return p.JSON
}

// asInput is the text of arguments as the input of a block, which has to be an
// object. Text that is none is wrapped as the provider advises to.
func asInput(arguments string) string {
	var d intercept.Ambiguities
	if d.CheckArguments(arguments); len(d) == 0 {
		return arguments
	}
	return `{"INVALID_JSON":` + strictjson.Quote(arguments) + `}`
}

// blank reports a rendered text block that says nothing: no provider takes one
// back.
func blank(raw string) bool {
	v := gjson.Parse(raw)
	return v.Get("type").Str == "text" && strings.TrimSpace(v.Get("text").String()) == ""
}

func thinks(raw string) bool { return thinking[gjson.Get(raw, "type").Str] }

// assistantMessage renders a message of the assistant. Its last block must not be
// one of thinking, and what the model thought must not be changed.
func assistantMessage(blocks []string) string {
	var said []string
	for _, raw := range blocks {
		if !blank(raw) {
			said = append(said, raw)
		}
	}
	if n := len(said); n > 0 && thinks(said[n-1]) {
		said = append(said, textBlock("…"))
	}
	return `{"role":"assistant","content":[` + strings.Join(said, ",") + `]}`
}

func textBlock(text string) string { return `{"type":"text","text":` + strictjson.Quote(text) + `}` }

// toolResult renders the block that answers a call.
func toolResult(id, content string) string {
	return `{"type":"tool_result","tool_use_id":` + strictjson.Quote(id) + `,"content":` + strictjson.Quote(content) + `}`
}

func userMessage(results []string) string {
	return `{"role":"user","content":[` + strings.Join(results, ",") + `]}`
}
