package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

const (
	maxItems  = 2048 // in one answer of upstream
	maxPieces = 512  // texts that make up the input of one call
)

// item is one output item of a turn, as its events have built it so far.
type item struct {
	intercept.Unit
	index int    // as upstream numbered it, -1 where it did not
	entry *entry // the fullest that was shown of it
	over  bool   // it is done
	seat  int    // its number for the agent, -1 while it has none
	call  *call  // nil for an item that the agent does not run
	// recalled: it was ruled on when somebody asked for the same answer before.
	recalled bool
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

// call is what is known of an item that the agent runs.
type call struct {
	form    *form
	began   *entry // the item where it began, nil where it was shown whole at once
	pieces  []*piece
	repeats bool   // another call of the answer has the same item id, which some clients go by
	shown   bool   // the agent has got it in canonical form
	offered bool   // the request offers its tool, so that its namespace counts
	hosted  string // the MCP server that will run it
	id      string // made up, where upstream gave none, or gave it only where the item began
}

// piece is one of the texts of a call's input that came in events.
type piece struct {
	path      string
	fragments intercept.Fragments
	came      bool // fragments did
	whole     string
	stated    bool // whole did
}

// name is the tool that a call is of, as policy and people know it.
func (it *item) name() string {
	e, f := it.entry, it.call.form
	switch {
	case f.typ == approvalRequest:
		return "mcp__" + e.server + "__" + e.name
	case f.tool != "":
		return f.tool
	case f.unknown && e.name == "":
		return e.typ
	case e.namespace != "" && it.call.offered:
		return e.namespace + "." + e.name
	}
	return e.name
}

// input is the input of the call: of the item where that is done, else what came
// of it.
func (it *item) input() string {
	c := it.call
	text, _ := it.entry.input(c.form)
	if it.over || !c.form.text || text != "" {
		return text
	}
	for _, p := range c.pieces {
		if p.path == "" && p.stated {
			return p.whole
		}
		if p.path == "" {
			return p.fragments.String()
		}
	}
	return ""
}

// callID is the id by which the call and its output find each other.
func (it *item) callID() string {
	if it.call.form.typ == approvalRequest {
		return it.entry.id
	}
	if it.call.id != "" {
		return it.call.id
	}
	return it.entry.callID
}

// Call implements [intercept.Codec].
func (*answer) Call(u *intercept.Unit) intercept.Call {
	it := itemOf(u)
	f := it.call.form
	return intercept.Call{
		ID: it.callID(), Name: it.name(), Arguments: it.input(), FreeText: f.free,
		Ambiguous: u.Doubts, Fixed: f.fixed, Hosted: it.call.hosted,
	}
}

// open makes an item of an entry that no item is known for.
func (a *answer) open(p *intercept.Part, e *entry, index int) (*item, error) {
	if len(a.items) == maxItems {
		return nil, intercept.NotUnderstood("it has more than %d output items", maxItems)
	}
	it := &item{index: index, entry: e, seat: -1}
	it.Of = it
	if f := a.runs(e); f != nil {
		it.call, it.Call, it.Odd, it.Hidden = &call{form: f}, true, f.unknown, f.typ == approvalRequest
		p.Open(&it.Unit)
		it.doubtShape()
		a.doubtOffer(it)
	}
	for _, other := range a.items {
		a.doubtShared(it, other)
	}
	a.items, a.strange = append(a.items, it), a.strange || e.unknown()
	p.Forget()
	return it, nil
}

// runs is the form of a call that the agent runs, nil for any other item.
func (a *answer) runs(e *entry) *form {
	switch {
	case e.typ == "shell_call" && strings.HasPrefix(e.place, "container") && a.hostsShell():
		return nil
	case e.typ == "tool_search_call" && e.execution == "server":
		return nil
	case a.ranByX(e):
		return nil
	}
	return e.form()
}

// at finds the item that an event is about: by its number, else by an id, else
// the last one that is not done. Behind some servers ids change from one event
// to the next, so that an id which nobody has counts for nothing.
func (a *answer) at(e *event) (*item, error) {
	var numbered, named, last *item
	for i := len(a.items) - 1; i >= 0; i-- {
		it := a.items[i]
		if e.index >= 0 && it.index == e.index && numbered == nil {
			numbered = it
		}
		if e.itemID != "" && named == nil && (it.entry.id == e.itemID || (it.index < 0 && it.entry.callID == e.itemID)) {
			named = it
		}
		if !it.over && last == nil {
			last = it
		}
	}
	switch {
	case numbered != nil && named != nil && numbered != named:
		return nil, intercept.NotUnderstood("an event names two different output items")
	case numbered != nil:
		return numbered, nil
	case named != nil && e.index < 0:
		return named, nil
	case named != nil && named.call != nil:
		return nil, intercept.NotUnderstood("an event has the id of a call, and the number of no output item")
	case e.index >= 0:
		return nil, nil
	}
	return last, nil
}

// finish takes the whole of an item. Some servers show items only when they are
// done.
func (a *answer) finish(p *intercept.Part, e *event) (*item, error) {
	it, err := a.doneItem(e)
	if err != nil {
		return nil, err
	}
	if it == nil || (it.over && !it.same(e.entry)) {
		if it, err = a.open(p, e.entry, e.index); err == nil {
			it.over = true
		}
		return it, err
	}
	if it.entry.typ != e.entry.typ || (it.call == nil && a.runs(e.entry) != nil) {
		return nil, intercept.NotUnderstood("an output item changes its type")
	}
	if err = it.show(e.entry); it.entry == e.entry && it.call != nil {
		a.doubtOffer(it)
	}
	return it, err
}

// doneItem finds the item that is done; without a number it goes by its own ids.
func (a *answer) doneItem(e *event) (*item, error) {
	by := *e
	if by.itemID == "" && e.index < 0 {
		by.itemID = e.entry.id
		if by.itemID == "" {
			by.itemID = e.entry.callID
		}
	}
	return a.at(&by)
}

// same reports whether an entry shows the item once more.
func (it *item) same(e *entry) bool {
	return it.entry.typ == e.typ && it.entry.id == e.id && it.entry.callID == e.callID
}

// renamed reports whether a fuller entry of a call names another tool than the entry
// with which it began.
func (e *entry) renamed(fuller *entry) bool {
	name := e.name != "" && e.name != fuller.name
	namespace := (e.namespace != "" || e.name != "") && e.namespace != fuller.namespace
	server := e.server != "" && e.server != fuller.server
	return name || namespace || server
}

// show takes a fuller entry of the item, and doubts a call that differs in it.
func (it *item) show(e *entry) error {
	if c := it.call; c != nil {
		switch {
		case it.over:
			it.compare(e)
			return it.unlike() // a client may take it for another call
		case it.entry.renamed(e):
			it.Doubt(doubtName)
		}
		if id := it.entry.callID; id != "" && id != e.callID {
			it.Doubt(doubtID)
			if e.callID == "" {
				c.id = id
			}
		}
		before, _ := it.entry.input(c.form)
		after, _ := e.input(c.form)
		if !c.form.unknown && before != after && !begins(c.form, before, after) {
			it.Doubt(doubtCopies)
		}
		c.began = it.entry
		defer it.doubtShape()
	}
	it.entry, it.over = e, true
	return nil
}

const (
	doubtPrototype = "Its input has a field with a name (such as __proto__) under which some clients keep something else."

	doubtName   = "Its name changes from one event to the next."
	doubtID     = "Its id changes from one place of the answer to another."
	doubtCopies = "The answer shows it several times, and not with the same arguments."
)

// begins reports whether an input is what another one began as.
func begins(f *form, before, after string) bool {
	if f.text {
		return before == ""
	}
	return before == "" || grows(gjson.Parse(before), gjson.Parse(after), 0)
}

// compare doubts a call that another place of the answer shows in another way.
func (it *item) compare(e *entry) {
	if it.call == nil {
		return
	}
	shown := item{entry: e, call: it.call}
	one, _ := it.entry.input(it.call.form)
	other, _ := e.input(it.call.form)
	if it.call.form.unknown {
		one, other = strings.TrimSpace(one), strings.TrimSpace(other)
	}
	switch {
	case it.name() != shown.name() || it.entry.typ != e.typ:
		it.doubt(doubtName)
	case one != other:
		it.doubt(doubtCopies)
	}
	if it.entry.callID != e.callID {
		it.doubt(doubtID)
	}
}

// take adds a text to the input of a call.
func (it *item) take(e *event) error {
	c := it.call
	if e.input.of != c.form.typ {
		it.doubt("Parts of its arguments came as those of another kind of call.")
	}
	if e.name != "" && e.name != it.entry.name {
		it.doubt(doubtName)
	}
	p := c.piece(e.input.path)
	if p == nil {
		return intercept.NotUnderstood("the input of a call has more than %d parts", maxPieces)
	}
	switch {
	case it.over:
		it.doubt("Parts of its arguments came after its end.")
	case !e.input.fragment && p.stated && p.whole != e.text:
		it.doubt(doubtCopies)
	case e.input.fragment && p.stated:
		it.doubt(doubtCopies)
	case p.stated:
		if err := it.unlike(); err != nil { // a client may take it for another call
			return err
		}
	}
	if e.input.fragment {
		p.fragments.WriteString(e.text)
		p.came = p.came || e.text != ""
	} else {
		p.whole, p.stated = e.text, true
	}
	return nil
}

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

// identify gives the calls without an id made-up ones.
func (a *answer) identify() {
	for i, it := range a.items {
		if it.call != nil && it.callID() == "" && it.call.form.typ != approvalRequest && !it.call.form.unknown {
			it.call.id = intercept.MadeUpID(a.limits.TurnID, a.continuations*maxItems+i)
		}
	}
}
