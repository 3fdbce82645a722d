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
	Failed    bool // it reports an error inside the answer: the held parts and their calls are void
	Ends      bool // it ends the answer, or a part of it
	Complete  bool // nothing of the answer follows
	Withheld  bool // it must not pass before the calls of the answer are ruled on
	Overtakes bool // it need not be read after the held parts
	Rewritten bool // it passes as a part of an answer that the agent has begun to read, and not as it came
	Spent     bool // it has pieces of calls only, which the codec has kept: nothing of it goes out

	// Form is that of the part, if further events of that form need no decoder; without slots
	// for none.
	Form Template

	answer *Answer
	units  []*Unit // of its events, nil for an event about none
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
func (p *Part) Open(u *Unit) { p.answer.calls = append(p.answer.calls, u) }

// Event takes an event about a unit, nil for an event that is about none, and the next piece of the
// input of a call. The error is an [*Error].
func (p *Part) Event(u *Unit, input string) error {
	p.units = append(p.units, u)
	if u == nil || !u.Call {
		return nil
	}
	return p.answer.budget.call(len(input))
}

// Void removes the held parts and their calls, because the answer begins again or fails.
func (p *Part) Void() {
	p.answer.kept = HoldBuffer[heldPart]{}
	p.answer.calls = nil
}

// Forget makes the answer decode the next events: the forms that it has learned no
// longer apply.
func (p *Part) Forget() { p.answer.Forget() }
