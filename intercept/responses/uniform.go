package responses

import (
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// A call is uniform if every event that has a part of it is one that all known
// clients read alike: these fields, these types, the one right event line, and the
// identity with which the call began. A uniform call is released as upstream sent it,
// any other in canonical form.

// eventStyle is how the events of one upstream body are written, as its first one shows.
type eventStyle struct {
	known    bool
	named    bool  // with an event line
	numbered bool  // with a sequence number
	last     int64 // the highest sequence number so far
}

// learn takes the style of the first event.
func (s *eventStyle) learn(e *event, event *sse.Event) {
	if !s.known {
		*s = eventStyle{known: true, named: event.Name != nil, numbered: e.number >= 0, last: -1}
	}
}

// count notes the sequence number of an event.
func (s *eventStyle) count(number int64) { s.last = max(s.last, number) }

// matches reports whether an event, alone in a part of the stream, is written as the
// first one was. Clients may skip an event that is not. Line ends and blanks before lines
// are the same in all of a body: see [intercept.Body.Payloads].
func (s *eventStyle) matches(e *event, event *sse.Event) bool {
	if len(event.Data) != 1 || len(event.Stray) > 0 || (event.Name != nil) != s.named || (s.named && string(event.Name) != e.typ) {
		return false
	}
	return (e.number >= 0) == s.numbered && (!s.numbered || e.number > s.last)
}

// uniform reports whether an event of a call is one that all clients read alike. It does
// not look at the events of a call that is released in canonical form anyway: each could
// have it read the whole input again.
func (p *eventBatch) uniform(it *item, e *event) bool {
	if it.canonical() || !p.body.style.matches(e, &p.part.Lines) || e.index != it.index {
		return false
	}
	switch top := gjson.Parse(e.raw); e.kind {
	case kindAdded:
		return it.call.form.fits(top) && it.entry.identified() && it.index == len(p.body.items)-1
	case kindDone:
		return it.call.form.fits(top) && it.finished()
	case kindInput:
		named := e.itemID == "" || e.itemID == it.entry.id
		return named && inputEventSchemas[e.typ].Fits(top) && p.inputAgrees(it, e)
	}
	return false
}

// finished reports whether the end of a call is what all clients expect after its
// beginning and its fragments.
func (it *item) finished() bool {
	ended := it.entry.status == "completed" || it.entry.status == "incomplete"
	return ended && it.call.began != nil && it.entry.sameCall(it.call.began) && it.streamed()
}

// inputAgrees reports whether all clients add a fragment of an input to the call, or
// have the input that an event shows as a whole. LangChain for Python drops a fragment
// that follows an event of another item.
func (p *eventBatch) inputAgrees(it *item, e *event) bool {
	if e.input.fragment {
		return it == p.body.latest
	}
	return it.call.piece(e.input.path).fragments.String() == e.text
}

// streamed reports whether the fragments of an input make up all of it. A client that
// adds them up runs something else where they do not, and where the beginning of the call
// had an input already.
func (it *item) streamed() bool {
	c := it.call
	began, _ := c.began.input(c.form)
	for _, t := range c.form.texts(began) {
		if t.text != "" {
			return false
		}
	}
	for _, t := range c.form.texts(it.input()) {
		p := c.find(t.path)
		if t.text != "" && (p == nil || p.fragments.String() != t.text) {
			return false
		}
	}
	return true
}

// A call of a tool that is allowed by its name passes unbuffered as long as it is
// plain. Its beginning waits for the first event after it, which shows whether the
// input comes in fragments at all: clients that add them up run a call without any
// with an empty input.

// plain reports whether an event of a call may pass unbuffered: the beginning of the
// next item, or a later event of the last one.
func (p *eventBatch) plain(it *item, e *event) bool {
	c := it.call
	last := p.body.items[len(p.body.items)-1]
	if !p.out.verbatim() || it.Odd || len(it.Ambiguities) > 0 || c.form.typ != "function_call" || last != it {
		return false
	}
	switch {
	case e.kind == kindAdded:
		text, _ := it.entry.input(c.form)
		return text == ""
	case !it.Passing():
		return false
	case e.kind == kindInput && !e.input.fragment:
		return c.piece("").fragments.String() == e.text && (e.text == "" || strictjson.Strict([]byte(e.text)) == nil)
	}
	return e.kind == kindInput || e.kind == kindDone
}
