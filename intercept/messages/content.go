package messages

import (
	"cmp"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// block is one block of the content as its events have built it so far.
type block struct {
	intercept.Unit
	index     int // as upstream numbered it
	attempt   int // of the stream, from 0: see [body.restart]
	role      role
	unknown   bool   // heldcall does not know its type
	opened    string // as it opened
	grown     []grown
	citations []string
	call      *call // of roleCall
	ended     bool
	shown     bool // the agent has got its opening
}

// grown is a field of a block that is sent in pieces.
type grown struct {
	field string
	text  *strictjson.Rope // JSON string contents, still escaped
	value string           // or its last value, raw
}

func newBlock(o *opening, index, attempt int) *block {
	b := &block{Unit: intercept.Unit{Call: o.role == roleCall}, index: index, attempt: attempt, role: o.role, unknown: o.unknown, opened: o.raw}
	if b.Of = b; o.role == roleCall {
		b.call = newCall(o)
	}
	return b
}

// blockOf returns the block of a unit, nil for nil.
func blockOf(u *intercept.Unit) *block {
	if u == nil {
		return nil
	}
	return u.Of.(*block)
}

// addAmbiguity records why clients may read the events of a call in different ways. A
// block that is no call is read alike by all.
func (b *block) addAmbiguity(reason string) {
	if b.call != nil {
		b.AddAmbiguity(reason)
	}
}

// modelMessage is the text that the model reads about a call.
func (b *block) modelMessage() string {
	r, _ := b.Ruling()
	return r.ModelMessage
}

// add takes a delta. It returns the number of bytes that are kept of it.
func (b *block) add(d *delta) (n int) {
	for _, g := range d.fields {
		n += len(g.piece.Raw) - len(`""`)
		if d.input && b.call != nil {
			b.addInput(strictjson.Fragment(g.piece))
			continue
		}
		field, named := b.grow(g.field)
		field.text.Add([]byte(g.piece.Raw[1 : len(g.piece.Raw)-1]))
		n += named
	}
	for _, g := range d.values {
		field, named := b.grow(g.field)
		field.value = strings.Clone(g.piece.Raw)
		n += len(g.piece.Raw) + named
	}
	if d.citation != "" {
		b.citations = append(b.citations, strings.Clone(d.citation))
	}
	return n + len(d.citation)
}

func (b *block) addInput(piece string) {
	if piece != "" && b.call.given != "" && b.call.given != "{}" {
		b.AddAmbiguity(ambiguousInput)
	}
	b.call.fragments.WriteString(piece)
}

// grow returns a field that grows, which it adds if it is new, and how many bytes are kept
// of its name.
func (b *block) grow(field string) (g *grown, kept int) {
	for i := range b.grown {
		if b.grown[i].field == field {
			return &b.grown[i], 0
		}
	}
	field = strings.Clone(field) // it is a part of an event
	b.grown = append(b.grown, grown{field: field, text: &strictjson.Rope{}})
	return &b.grown[len(b.grown)-1], len(field)
}

// text is the block's text for the user.
func (b *block) text() string {
	opened := gjson.Parse(b.opened)
	if opened.Get("type").Str != "text" {
		return ""
	}
	text := opened.Get("text").String()
	for _, g := range b.grown {
		if g.field == "text" {
			text += unescape(g.text)
		}
	}
	return text
}

func unescape(text *strictjson.Rope) string { return gjson.Parse(`"` + text.String() + `"`).Str }

// render returns the block as it is in the content of a message. A call is rendered
// from known fields, with the given id. Other blocks keep all bytes with which they
// opened, except for the fields that were sent in pieces.
func (b *block) render(id string) string {
	if c := b.call; c != nil {
		return c.block(id, asInput(c.arguments()))
	}
	p := strictjson.Patch{JSON: b.opened}
	opened := gjson.Parse(b.opened)
	for _, g := range b.grown {
		if g.field == "partial_json" {
			p.Set("input", asInput(unescape(g.text)))
			continue
		}
		if g.value != "" {
			p.Set(gjson.Escape(g.field), g.value)
			continue
		}
		begun := opened.Get(gjson.Escape(g.field))
		beginning := ""
		if begun.Type == gjson.String {
			beginning = begun.Raw[1 : len(begun.Raw)-1]
		}
		p.Set(gjson.Escape(g.field), `"`+beginning+g.text.String()+`"`)
	}
	if len(b.citations) > 0 {
		citations := opened.Get("citations").Raw
		if !gjson.Parse(citations).IsArray() {
			citations = "[]"
		}
		p.Set("citations", string(strictjson.AppendItems([]byte(citations), b.citations...)))
	}
	if p.Err != nil {
		return b.opened
	}
	return p.JSON
}

// asInput returns arguments as the input of a block, which has to be an object. Other
// text is wrapped as the provider recommends.
func asInput(arguments string) string {
	var d intercept.Ambiguities
	if d.CheckArguments(arguments); len(d) == 0 {
		return arguments
	}
	return `{"INVALID_JSON":` + strictjson.Quote(arguments) + `}`
}

// call is one tool call as its events have built it so far.
type call struct {
	id, name  string
	extras    string // the other fields that are released with it, see [extras]
	given     string // the input with which the block opened, raw
	fragments strictjson.Fragments
}

func newCall(o *opening) *call {
	return &call{id: strings.Clone(o.id), name: strings.Clone(o.name), given: strings.Clone(o.input)}
}

// tool is the name of the call's tool for policy and people, with the toolset that it is in.
func (c *call) tool() string {
	if c.extras == "" {
		return c.name
	}
	return toolOf(gjson.Parse("{"+c.extras[1:]+"}"), c.name)
}

// toolOf joins the toolset that a block names, if it does, and the name of a tool in it.
func toolOf(block gjson.Result, name string) string {
	if toolset := block.Get("toolset_name"); toolset.Type == gjson.String && toolset.Str != "" {
		return strings.Clone(toolset.Str) + "." + name
	}
	return name
}

// empty reports whether the block opened without input: it follows in pieces, or there
// is none.
func (c *call) empty() bool {
	v := gjson.Parse(c.given)
	switch {
	case v.IsObject():
		return strings.Trim(v.Raw, "{} \t\r\n") == ""
	case v.Type == gjson.String:
		return v.Str == ""
	}
	return v.Type == gjson.Null
}

// arguments is the input of the call. A call that opens with an input and continues in
// pieces has both, because clients take the one, the other or both.
func (c *call) arguments() string {
	switch {
	case c.fragments.Len() == 0 && c.empty():
		return "{}"
	case c.empty():
		return c.fragments.String()
	}
	return c.given + c.fragments.String()
}

// block renders the block of the call with an id and an input, which is JSON.
func (c *call) block(id, input string) string {
	return `{"type":"tool_use","id":` + strictjson.Quote(id) + `,"name":` + strictjson.Quote(c.name) + `,"input":` + input + c.extras + `}`
}

// Why clients may read a call in different ways.
const (
	ambiguousIndex   = "Two blocks of the answer have the same number; some clients read both as one."
	ambiguousOrder   = "Pieces of two blocks alternate; clients that go by the last block read both as one."
	ambiguousLate    = "It continues after its end."
	ambiguousEnds    = "It ends twice, and some clients may run it twice."
	ambiguousOpenEnd = "It has no end; it may be longer than it looks."
	ambiguousUnnamed = "Some events of the answer have no name, and some clients skip those."
	ambiguousDelta   = "It contains pieces of another kind than input."
	ambiguousInput   = "It begins with an input and continues in pieces; some clients use the first, some the pieces, some both."
)

// program is the id of the call of the provider's tool whose program issued the call, "" for a call of the model
// itself.
func (c *call) program() string {
	if c.extras == "" {
		return ""
	}
	caller := gjson.Get("{"+c.extras[1:]+"}", "caller")
	if !serverTool.MatchString(caller.Get("type").Str) {
		return ""
	}
	return cmp.Or(caller.Get("tool_id").Str, "program")
}
