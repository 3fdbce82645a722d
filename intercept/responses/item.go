package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

const (
	maxPieces = 512 // texts that make up the input of one call
)

// item is one output item of a body, as its events have built it so far.
type item struct {
	intercept.Unit
	index      int    // upstream's, -1 for none
	entry      *entry // the most complete one that was shown
	done       bool   // it is complete
	agentIndex int    // its index for the agent, -1 while it has none
	call       *call  // nil for an item that the agent does not run
	recalled   bool   // its ruling was made for an earlier request for the same answer
}

// itemOf is the item that is a unit of the answer, nil for nil.
func itemOf(u *intercept.Unit) *item {
	if u == nil {
		return nil
	}
	return u.Of.(*item)
}

// ruling is the ruling on a call, the zero value for none.
func (it *item) ruling() intercept.Ruling {
	r, _ := it.Ruling()
	return r
}

// call is the state of an item that the agent runs.
type call struct {
	form      *callForm
	began     *entry // the item where it began, nil where it was shown whole at once
	pieces    []*piece
	sharedID  bool   // another call has the same item id, by which some clients find calls
	shown     bool   // the agent has it in canonical form
	inRequest bool   // the request offers its tool, so that its namespace counts
	hosted    string // the MCP server that will run it
	id        string // made up, where upstream gave none, or gave it only where the item began
	rendered  string // the item as it goes out, once it does
}

// piece is one of the texts of a call's input that came in events.
type piece struct {
	path       string
	fragments  strictjson.Fragments
	fragmented bool // fragments came
	whole      string
	complete   bool // whole came
}

// find returns the piece of a path, nil for none.
func (c *call) find(path string) *piece {
	for _, p := range c.pieces {
		if p.path == path {
			return p
		}
	}
	return nil
}

// piece returns the piece of a path, which it makes if there is none. It is nil if there
// are too many.
func (c *call) piece(path string) *piece {
	if p := c.find(path); p != nil {
		return p
	}
	if len(c.pieces) == maxPieces {
		return nil
	}
	p := &piece{path: path}
	c.pieces = append(c.pieces, p)
	return p
}

// name is the name of a call's tool for policy and people.
func (it *item) name() string {
	e, f := it.entry, it.call.form
	switch {
	case f.typ == approvalRequest:
		return "mcp__" + e.server + "__" + e.name
	case f.tool != "":
		return f.tool
	case f.unknown && e.name == "":
		return e.typ
	case e.namespace != "" && it.call.inRequest:
		return e.namespace + "." + e.name
	}
	return e.name
}

// input is the input of the call: that of the item if it is done, else the fragments so
// far.
func (it *item) input() string {
	c := it.call
	text, _ := it.entry.input(c.form)
	if it.done || !c.form.text || text != "" {
		return text
	}
	switch p := c.find(""); {
	case p == nil:
		return ""
	case p.complete:
		return p.whole
	default:
		return p.fragments.String()
	}
}

// callID is the id by which the output of the call names it.
func (it *item) callID() string {
	if it.call.form.typ == approvalRequest {
		return it.entry.id
	}
	if it.call.id != "" {
		return it.call.id
	}
	return it.entry.callID
}

// fingerprint identifies a call in later requests for the same answer.
func (it *item) fingerprint() string {
	return intercept.Fingerprint(it.entry.typ, it.callID(), it.entry.namespace, it.entry.name, it.input())
}

// Call implements [intercept.Codec].
func (a *answer) Call(u *intercept.Unit) intercept.Call {
	it := itemOf(u)
	f := it.call.form
	call := intercept.Call{
		Offered: a.limits.Offered != nil && offered(a.limits.Offered).named(it.entry, a.body.offers()),
		ID:      it.callID(), Name: it.name(), Arguments: it.input(), FreeText: f.free,
		Ambiguous: a.body.ambiguities(it), ReadOnly: f.fixed, Hosted: it.call.hosted, Subagent: it.entry.agent,
	}
	if program := it.entry.program(); program != "" {
		call.Flags = append(call.Flags, intercept.FlagProgram(a.programCode(program)))
	}
	return call
}

// programCode is the code of a program by its call id: in the answer, or in the input that it
// continues. It is "" if it is in neither.
func (a *answer) programCode(id string) (code string) {
	find := func(item gjson.Result) bool {
		if item.Get("type").Str == "program" && item.Get("call_id").Str == id {
			code = item.Get("code").String()
		}
		return code == ""
	}
	for _, it := range a.body.items {
		if !find(gjson.Parse(it.entry.raw)) {
			return code
		}
	}
	a.req.Value("input").ForEach(func(_, item gjson.Result) bool { return find(item) })
	return code
}

// is reports whether an entry shows the item, by the ids that the API compares.
func (it *item) is(e *entry) bool {
	if it.entry.callID != "" || e.callID != "" {
		return it.entry.typ == e.typ && it.entry.callID == e.callID
	}
	return it.entry.typ == e.typ && it.entry.id == e.id
}

// same reports whether an entry shows the item again, by all ids.
func (it *item) same(e *entry) bool {
	return it.entry.typ == e.typ && it.entry.id == e.id && it.entry.callID == e.callID
}

// isNamed reports whether an item id names the item. In an item without an index the
// call id does too.
func (it *item) isNamed(id string) bool {
	return id != "" && (it.entry.id == id || (it.index < 0 && it.entry.callID == id))
}

// show takes a more complete entry of the item, and notes how a call differs in it.
func (it *item) show(e *entry) {
	if c := it.call; c != nil {
		switch {
		case it.done:
			it.compare(e)
			return
		case it.entry.renamed(e):
			it.AddAmbiguity(ambiguousName)
		}
		if id := it.entry.callID; id != "" && id != e.callID {
			it.AddAmbiguity(ambiguousID)
			if e.callID == "" {
				c.id = id
			}
		}
		before, _ := it.entry.input(c.form)
		after, _ := e.input(c.form)
		if !c.form.unknown && before != after && !c.form.begins(before, after) {
			it.AddAmbiguity(ambiguousCopies)
		}
		if c.began = it.entry; it.entry.agent != e.agent {
			it.AddAmbiguity(ambiguousAgent)
		}
		defer it.checkShape()
	}
	it.entry, it.done = e, true
}

// begins reports whether one input is the beginning of another.
func (f *callForm) begins(before, after string) bool {
	if f.text {
		return before == ""
	}
	return before == "" || grows(gjson.Parse(before), gjson.Parse(after), 0)
}

// compare notes how a call differs in an entry of another place of the answer.
func (it *item) compare(e *entry) {
	if it.call == nil {
		return
	}
	shown := item{entry: e, call: it.call}
	shownInput, _ := it.entry.input(it.call.form)
	other, _ := e.input(it.call.form)
	if it.call.form.unknown {
		shownInput, other = strings.TrimSpace(shownInput), strings.TrimSpace(other)
	}
	switch {
	case it.name() != shown.name() || it.entry.typ != e.typ:
		it.markOdd(ambiguousName)
	case shownInput != other:
		it.markOdd(ambiguousCopies)
	}
	if it.entry.callID != e.callID {
		it.markOdd(ambiguousID)
	}
	if it.entry.agent != e.agent {
		it.markOdd(ambiguousAgent)
	}
}

// take adds a text to the input of a call.
func (it *item) take(e *event) error {
	c := it.call
	if e.input.of != c.form.typ {
		it.markOdd("Parts of its arguments came as those of another kind of call.")
	}
	if e.name != "" && e.name != it.entry.name {
		it.markOdd(ambiguousName)
	}
	p := c.piece(e.input.path)
	if p == nil {
		return intercept.NotUnderstood("the input of a call has more than %d parts", maxPieces)
	}
	switch repeated := !e.input.fragment && p.whole == e.text; {
	case it.done:
		it.markOdd("Parts of its arguments came after its end.")
	case p.complete && !repeated:
		it.markOdd(ambiguousCopies)
	}
	p.add(e)
	return nil
}

// add takes the text of an event.
func (p *piece) add(e *event) {
	if e.input.fragment {
		p.fragments.WriteString(e.text)
		p.fragmented = p.fragmented || e.text != ""
	} else {
		p.whole, p.complete = e.text, true
	}
}
