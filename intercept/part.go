package intercept

import (
	"slices"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Part is a part of a body on its way through an [Answer]: of a stream some events, else all of it.
type Part struct {
	Bytes    []byte
	Whole    bool                  // it is a body of one JSON value, and its event the answer
	Payloads [][]byte              // the data of its events
	Abridged []strictjson.Abridged // that of the events of a stream, without the long texts of [Traits]
	Names    []string              // the names of its event, as any reader reads them; none if it has several events
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

	answer   *Answer
	units    []*Unit           // of its events, nil for an event about none
	lines    sse.Event         // of a stream of server-sent events
	texts    *strictjson.Texts // reads the long texts of its events
	callless bool              // the answer has no call so far
}

// Add adds the data of an event to those of the part, if it can be one: blank, the mark of
// [IsDone], or JSON that is strict except for halves of surrogate pairs in text and in fragments of
// arguments. It reports false otherwise.
func (p *Part) Add(data []byte) bool {
	if IsBlank(data) || IsDone(data) {
		p.Payloads, p.Abridged = append(p.Payloads, data), append(p.Abridged, strictjson.Unabridged(data))
		return true
	}
	if p.texts == nil {
		p.texts = new(strictjson.Texts)
	}
	a := p.texts.Abridge(data)
	if !a.IsStrict() && !strictjson.CutText(data) {
		return false
	}
	p.Payloads, p.Abridged = append(p.Payloads, data), append(p.Abridged, a)
	return true
}

// Name is the name of its events, "" for none.
func (p *Part) Name() string { return string(p.lines.Name) }

// has reports whether the events are those of the part, which is about no call.
func (p *Part) has(events []Event) bool {
	name := p.Name()
	return !slices.ContainsFunc(p.units, (*Unit).isCall) && slices.EqualFunc(events, p.Payloads, func(e Event, data []byte) bool { return e.Name == name && e.Data == string(data) })
}

// Map joins the results of a function for each event that is not blank, with the number of the
// event in the part.
func (p *Part) Map(events func(i int, e Event) ([]Event, error)) (list []Event, err error) {
	name := p.Name()
	for i, data := range p.Payloads {
		e := Event{Name: name, Data: string(data)}
		if IsBlank(data) {
			list = append(list, e)
			continue
		}
		more, err := events(i, e)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// Units lists the units of the events, in order.
func (p *Part) Units() []*Unit { return p.units }

// Buffer counts n bytes that are kept of a body, and refuses too many.
func (p *Part) Buffer(n int) error { return p.answer.budget.buffer(n) }

// Held reports whether parts before this one are held.
func (p *Part) Held() bool { return p.answer.held() }

// Send sends events to the agent, before the part.
func (p *Part) Send(events []Event) {
	p.answer.out.Add(p.answer.framed(nil, events))
}

// Replace gives the part one other event, which has been read.
func (p *Part) Replace(data string) {
	p.Bytes = p.answer.framed(nil, []Event{{Name: p.Name(), Data: data}})
	p.Payloads = [][]byte{[]byte(data)}
}

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
