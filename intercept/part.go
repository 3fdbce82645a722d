package intercept

import (
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Part is a part of a stream on its way through an [Answer].
type Part struct {
	Bytes    []byte
	Lines    sse.Event
	Payloads [][]byte
	Abridged []strictjson.Abridged // each payload, without the long texts of [Traits]
	Last     bool                  // the stream has ended within it

	// The codec sets:
	Failed    bool // it reports an error inside the answer
	Ends      bool // it ends the answer, or a part of it
	Complete  bool // nothing of the answer follows
	Withheld  bool // it must not pass before the calls of the answer are ruled on
	Overtakes bool // it need not be read after the held parts

	answer *Answer
	units  []*Unit // of its events, nil for an event about none
}

// EventKind is the effect of an event on a call.
type EventKind int

// The kinds of events.
const (
	EventOther EventKind = iota
	EventOpen            // the unit begins
	EventInput           // more of its input
	EventClose           // it is complete
)

// Event is the part of a stream's event about a unit.
type Event struct {
	Unit *Unit // nil for an event that is about none
	Kind EventKind
	// Text is the next piece of the input of a call.
	Text string
	// Uniform reports that all known clients read the event alike.
	Uniform bool
	// Plain reports that the call may pass unbuffered as far as this event shows.
	Plain bool
}

// Units lists the units of the events, in order.
func (p *Part) Units() []*Unit { return p.units }

// Buffer counts n bytes that are kept of a body, and refuses too many.
func (p *Part) Buffer(n int) error { return p.answer.budget.buffer(n) }

// Held reports whether parts before this one are held.
func (p *Part) Held() bool { return p.answer.held() }

// Send sends bytes to the agent.
func (p *Part) Send(b []byte) { p.answer.out.Add(b) }

// Open takes a call that is new in the body.
func (p *Part) Open(u *Unit) { p.answer.filter.calls = append(p.answer.filter.calls, u) }

// Event takes an event. The error is an [*Error].
func (p *Part) Event(e Event) error {
	p.units = append(p.units, e.Unit)
	if e.Unit == nil || !e.Unit.Call {
		return nil
	}
	return p.answer.filter.event(e)
}

// Void removes the held parts, because the answer begins again or fails. Calls that have
// passed are kept.
func (p *Part) Void() {
	p.answer.kept = HoldBuffer[[]*Unit]{}
	p.answer.filter.void()
}

// Forget makes the answer decode the next events: the forms that it has learned no
// longer apply.
func (p *Part) Forget() { p.answer.Forget() }
