package responses

import (
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// A call is uniform if every event that has a part of it is one that all known
// clients read alike: these fields, these types, the one right event line, and the
// identity with which the call began. A uniform call is released as upstream sent it,
// any other in canonical form.

// manner is how the events of one upstream body are written, as its first one shows.
type manner struct {
	known    bool
	named    bool  // with an event line
	numbered bool  // with a sequence number
	last     int64 // the highest sequence number so far
}

// note takes the manner of the first event.
func (m *manner) note(e *wire.Event, part []byte) {
	if !m.known {
		*m = manner{known: true, named: sse.Parse(part).Name != nil, numbered: e.Number >= 0, last: -1}
	}
}

// fits reports whether an event, alone in a part of the stream, is written as the
// first one was. Clients may skip an event that is not. How lines end and whether
// blanks stand before them is the same in all of a body: see [intercept.Body.Payloads].
func (m *manner) fits(e *wire.Event, part []byte) bool {
	event := sse.Parse(part)
	if len(event.Data) != 1 || len(event.Stray) > 0 || (event.Name != nil) != m.named || (m.named && string(event.Name) != e.Type) {
		return false
	}
	return (e.Number >= 0) == m.numbered && (!m.numbered || e.Number > m.last)
}

// uniform reports whether an event of a call is one that all clients read alike.
func (p *eventBatch) uniform(it *item, e *wire.Event) bool {
	if !p.manner.fits(e, p.part.Bytes) || e.Index != it.index {
		return false
	}
	switch top := gjson.Parse(e.Raw); e.Kind {
	case wire.KindAdded:
		return it.call.form.Fits(top) && it.entry.Identified() && it.index == len(p.answer.items)-1
	case wire.KindDone:
		return it.call.form.Fits(top) && it.call.began != nil && it.agrees(it.call.began) && it.streamed() &&
			(it.entry.Status == "completed" || it.entry.Status == "incomplete")
	case wire.KindInput:
		return wire.InputEventSchemas[e.Type].Fits(top) && (e.ItemID == "" || e.ItemID == it.entry.ID) &&
			p.agreesWithInput(it, e)
	}
	return false
}

// agreesWithInput reports whether all clients add a fragment of an input to the call, or
// have the input that an event shows as a whole. LangChain for Python adds a fragment
// after an event of another item to no call.
func (p *eventBatch) agreesWithInput(it *item, e *wire.Event) bool {
	if e.Input.Fragment {
		return it == p.latest
	}
	return it.call.piece(e.Input.Path).fragments.String() == e.Text
}

// agrees reports whether an entry shows the same call as the item.
func (it *item) agrees(e *wire.Entry) bool {
	own := it.entry
	return own.Type == e.Type && own.ID == e.ID && own.CallID == e.CallID && own.Name == e.Name && own.Namespace == e.Namespace &&
		own.Caller == e.Caller && own.Execution == e.Execution && own.Environment == e.Environment
}

// sameInput reports whether an entry shows a call with the same input as the item.
func (it *item) sameInput(e *wire.Entry) bool {
	own, _ := it.entry.Input(it.call.form)
	other, _ := e.Input(it.call.form)
	return own == other
}

// streamed reports whether the fragments of an input make up all of it. A client that
// adds them up runs something else where they do not, or where the input stood in the
// beginning of the call already.
func (it *item) streamed() bool {
	c := it.call
	began, _ := c.began.Input(c.form)
	for _, t := range c.form.Texts(began) {
		if t.Text != "" {
			return false
		}
	}
	for _, t := range c.form.Texts(it.input()) {
		p := c.find(t.Path)
		if t.Text != "" && (p == nil || p.fragments.String() != t.Text) {
			return false
		}
	}
	return true
}

func (c *call) find(path string) *piece {
	for _, p := range c.pieces {
		if p.path == path {
			return p
		}
	}
	return nil
}

// unlike notes that clients may read a call in different ways. It cannot be taken back
// where the beginning of the call has reached the agent.
func (it *item) unlike() error {
	if it.call == nil || it.call.form.Type == wire.ApprovalRequest {
		return nil
	}
	return it.Differ()
}

// A call of a tool that is allowed by its name passes unbuffered as long as it is
// plain. Its beginning waits for the first event after it, which shows whether the
// input comes in fragments at all: clients that add them up run a call without any
// with an empty input.

// plain reports whether an event of a call may pass unbuffered: the beginning of the
// next item, or what follows of the last one.
func (p *eventBatch) plain(it *item, e *wire.Event) bool {
	c := it.call
	if !p.verbatim() || it.Odd || len(it.Ambiguities) > 0 || c.form.Type != "function_call" || p.items[len(p.items)-1] != it {
		return false
	}
	switch {
	case e.Kind == wire.KindAdded:
		text, _ := it.entry.Input(c.form)
		return text == ""
	case !it.Passing():
		return false
	case e.Kind == wire.KindInput && !e.Input.Fragment:
		return c.piece("").fragments.String() == e.Text && (e.Text == "" || strictjson.Strict([]byte(e.Text)) == nil)
	}
	return e.Kind == wire.KindInput || e.Kind == wire.KindDone
}
