package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

const (
	maxPieces = 512 // texts that make up the input of one call
)

// item is one output item of a turn, as its events have built it so far.
type item struct {
	intercept.Unit
	index int         // as upstream numbered it, -1 where it did not
	entry *wire.Entry // the fullest that was shown of it
	over  bool        // it is done
	seat  int         // its number for the agent, -1 while it has none
	call  *call       // nil for an item that the agent does not run
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
	form    *wire.Form
	began   *wire.Entry // the item where it began, nil where it was shown whole at once
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
	fragments strictjson.Fragments
	came      bool // fragments did
	whole     string
	stated    bool // whole did
}

// name is the tool that a call is of, as policy and people know it.
func (it *item) name() string {
	e, f := it.entry, it.call.form
	switch {
	case f.Type == wire.ApprovalRequest:
		return "mcp__" + e.Server + "__" + e.Name
	case f.Tool != "":
		return f.Tool
	case f.Unknown && e.Name == "":
		return e.Type
	case e.Namespace != "" && it.call.offered:
		return e.Namespace + "." + e.Name
	}
	return e.Name
}

// input is the input of the call: of the item where that is done, else what came
// of it.
func (it *item) input() string {
	c := it.call
	text, _ := it.entry.Input(c.form)
	if it.over || !c.form.Text || text != "" {
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
	if it.call.form.Type == wire.ApprovalRequest {
		return it.entry.ID
	}
	if it.call.id != "" {
		return it.call.id
	}
	return it.entry.CallID
}

// Call implements [intercept.Codec].
func (*answer) Call(u *intercept.Unit) intercept.Call {
	it := itemOf(u)
	f := it.call.form
	return intercept.Call{
		ID: it.callID(), Name: it.name(), Arguments: it.input(), FreeText: f.Free,
		Ambiguous: u.Ambiguities, ReadOnly: f.Fixed, Hosted: it.call.hosted,
	}
}

// open makes an item of an entry that no item is known for.
func (a *answer) open(p *intercept.Part, e *wire.Entry, index int) (*item, error) {
	if len(a.items) == wire.MaxItems {
		return nil, intercept.NotUnderstood("it has more than %d output items", wire.MaxItems)
	}
	it := &item{index: index, entry: e, seat: -1}
	it.Of = it
	if f := a.runs(e); f != nil {
		it.call, it.Call, it.Odd, it.Hidden = &call{form: f}, true, f.Unknown, f.Type == wire.ApprovalRequest
		p.Open(&it.Unit)
		it.doubtShape()
		a.doubtOffer(it)
	}
	for _, other := range a.items {
		a.doubtShared(it, other)
	}
	if it.call != nil && a.strays[e.ID] { // LangChain for Python goes by the number that came with the id first
		it.call.repeats, it.Odd = true, true
	}
	a.items, a.strange = append(a.items, it), a.strange || e.Unknown()
	p.Forget()
	return it, nil
}

// runs is the form of a call that the agent runs, nil for any other item.
func (a *answer) runs(e *wire.Entry) *wire.Form {
	switch {
	case e.Type == "shell_call" && strings.HasPrefix(e.Environment, "container") && a.hostsShell():
		return nil
	case e.Type == "tool_search_call" && e.Execution == "server":
		return nil
	case a.ranByX(e):
		return nil
	}
	return e.Form()
}

// at finds the item that an event is about: by its number, else by an id, else
// the last one that is not done. Behind some servers ids change from one event
// to the next, so that an id which nobody has counts for nothing.
func (a *answer) at(e *wire.Event) (*item, error) {
	var numbered, named, last *item
	for i := len(a.items) - 1; i >= 0; i-- {
		it := a.items[i]
		if e.Index >= 0 && it.index == e.Index && numbered == nil {
			numbered = it
		}
		if e.ItemID != "" && named == nil && (it.entry.ID == e.ItemID || (it.index < 0 && it.entry.CallID == e.ItemID)) {
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
	case named != nil && e.Index < 0:
		return named, nil
	case named != nil && named.call != nil:
		return nil, intercept.NotUnderstood("an event has the id of a call, and the number of no output item")
	case e.Index >= 0:
		return nil, nil
	}
	return last, nil
}

// finish takes the whole of an item. Some servers show items only when they are
// done.
func (a *answer) finish(p *intercept.Part, e *wire.Event) (*item, error) {
	it, err := a.doneItem(e)
	if err != nil {
		return nil, err
	}
	if it == nil || (it.over && !it.same(e.Entry)) {
		if it, err = a.open(p, e.Entry, e.Index); err == nil {
			it.over = true
		}
		return it, err
	}
	if it.entry.Type != e.Entry.Type || (it.call == nil && a.runs(e.Entry) != nil) {
		return nil, intercept.NotUnderstood("an output item changes its type")
	}
	if err = it.show(e.Entry); it.entry == e.Entry && it.call != nil {
		a.doubtOffer(it)
	}
	return it, err
}

// doneItem finds the item that is done; without a number it goes by its own ids.
func (a *answer) doneItem(e *wire.Event) (*item, error) {
	by := *e
	if by.ItemID == "" && e.Index < 0 {
		by.ItemID = e.Entry.ID
		if by.ItemID == "" {
			by.ItemID = e.Entry.CallID
		}
	}
	return a.at(&by)
}

// same reports whether an entry shows the item once more.
func (it *item) same(e *wire.Entry) bool {
	return it.entry.Type == e.Type && it.entry.ID == e.ID && it.entry.CallID == e.CallID
}

// show takes a fuller entry of the item, and doubts a call that differs in it.
func (it *item) show(e *wire.Entry) error {
	if c := it.call; c != nil {
		switch {
		case it.over:
			it.compare(e)
			return it.unlike() // a client may take it for another call
		case it.entry.Renamed(e):
			it.AddAmbiguity(doubtName)
		}
		if id := it.entry.CallID; id != "" && id != e.CallID {
			it.AddAmbiguity(doubtID)
			if e.CallID == "" {
				c.id = id
			}
		}
		before, _ := it.entry.Input(c.form)
		after, _ := e.Input(c.form)
		if !c.form.Unknown && before != after && !begins(c.form, before, after) {
			it.AddAmbiguity(doubtCopies)
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
func begins(f *wire.Form, before, after string) bool {
	if f.Text {
		return before == ""
	}
	return before == "" || wire.Grows(gjson.Parse(before), gjson.Parse(after), 0)
}

// compare doubts a call that another place of the answer shows in another way.
func (it *item) compare(e *wire.Entry) {
	if it.call == nil {
		return
	}
	shown := item{entry: e, call: it.call}
	one, _ := it.entry.Input(it.call.form)
	other, _ := e.Input(it.call.form)
	if it.call.form.Unknown {
		one, other = strings.TrimSpace(one), strings.TrimSpace(other)
	}
	switch {
	case it.name() != shown.name() || it.entry.Type != e.Type:
		it.doubt(doubtName)
	case one != other:
		it.doubt(doubtCopies)
	}
	if it.entry.CallID != e.CallID {
		it.doubt(doubtID)
	}
}

// take adds a text to the input of a call.
func (it *item) take(e *wire.Event) error {
	c := it.call
	if e.Input.Of != c.form.Type {
		it.doubt("Parts of its arguments came as those of another kind of call.")
	}
	if e.Name != "" && e.Name != it.entry.Name {
		it.doubt(doubtName)
	}
	p := c.piece(e.Input.Path)
	if p == nil {
		return intercept.NotUnderstood("the input of a call has more than %d parts", maxPieces)
	}
	switch {
	case it.over:
		it.doubt("Parts of its arguments came after its end.")
	case !e.Input.Fragment && p.stated && p.whole != e.Text:
		it.doubt(doubtCopies)
	case e.Input.Fragment && p.stated:
		it.doubt(doubtCopies)
	case p.stated:
		if err := it.unlike(); err != nil { // a client may take it for another call
			return err
		}
	}
	if e.Input.Fragment {
		p.fragments.WriteString(e.Text)
		p.came = p.came || e.Text != ""
	} else {
		p.whole, p.stated = e.Text, true
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
		if it.call != nil && it.callID() == "" && it.call.form.Type != wire.ApprovalRequest && !it.call.form.Unknown {
			it.call.id = strictjson.MadeUpID(a.limits.TurnID, a.continuations*wire.MaxItems+i)
		}
	}
}
