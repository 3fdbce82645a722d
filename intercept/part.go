package intercept

import (
	"slices"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Part is a part of a stream on its way through an [Answer].
type Part struct {
	Bytes    []byte
	Payloads [][]byte
	Last     bool // the stream has ended within it

	// What the codec finds out about it:
	Failed    bool // it reports an error inside the answer
	Ends      bool // it ends the answer, or a part of it
	Complete  bool // nothing of the answer follows
	Withheld  bool // it must not pass before the calls of the answer are ruled on
	Overtakes bool // nothing that is held has to be read before it

	answer *Answer
	units  []*Unit // that its events are about, nil for none
}

// EventKind is what an event does to a call.
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
	// Text is what it adds to the input of a call.
	Text string
	// Uniform reports that all known clients read the event alike.
	Uniform bool
	// Plain reports that the call may pass unbuffered as far as this event shows.
	Plain bool
}

// Units are those that the events of the part are about, in order.
func (p *Part) Units() []*Unit { return p.units }

// Streams reports whether a call may pass by the name of its tool.
func (p *Part) Streams() bool { return p.answer.limits.Pass != nil }

// Buffer bounds what is remembered of a body.
func (p *Part) Buffer(n int) error { return p.answer.budget.buffer(n) }

// Held reports whether parts before this one are held.
func (p *Part) Held() bool { return p.answer.held() }

// Send adds bytes to what goes to the agent now.
func (p *Part) Send(b []byte) { p.answer.out.Add(b) }

// Open takes a call that is new in the body.
func (p *Part) Open(u *Unit) { p.answer.calls = append(p.answer.calls, u) }

// Event takes an event. The error is an [*Error].
func (p *Part) Event(e Event) error {
	u := e.Unit
	p.units = append(p.units, u)
	if u == nil || !u.Call {
		return nil
	}
	a := p.answer
	if !e.Uniform {
		if !a.traits.Resumes {
			if err := u.Differ(); err != nil {
				return err
			}
			e.Plain = false
		}
		u.Odd = true
	}
	a.check(u, e)
	return nil
}

// check follows a call that may pass unbuffered.
func (a *Answer) check(u *Unit, e Event) {
	switch {
	case e.Kind == EventOpen && e.Plain && a.streams(u):
		u.check = strictjson.NewArgumentsCheck()
	case u.check != nil && !e.Plain:
		u.Interrupt()
	}
	if u.check != nil && e.Kind != EventClose && u.check.Add(e.Text) != nil {
		u.Interrupt()
	}
	if u.check != nil && e.Kind == EventClose {
		if a.codec.Judge(u); len(u.Ambiguities) > 0 {
			u.Interrupt()
		}
	}
}

// streams reports whether a call that begins may pass unbuffered.
func (a *Answer) streams(u *Unit) bool {
	return a.limits.Pass != nil && a.continued == 0 && !u.Odd && len(u.Ambiguities) == 0
}

// Void forgets what is held, because the answer begins again or fails. Calls that
// have passed stay.
func (p *Part) Void() {
	a := p.answer
	a.kept, a.waiting = HoldBuffer[[]*Unit]{}, nil
	a.calls = slices.DeleteFunc(a.calls, func(u *Unit) bool { return !u.passed })
}

// part takes one part of the stream: it passes or is held.
func (a *Answer) part(part []byte, last bool) error {
	if !last {
		if known, err := a.known(part); known {
			return err
		}
	}
	payloads, err := a.body.Payloads(part, a.continued > 0 || len(a.calls) > 0)
	if err != nil {
		return err
	}
	p := &a.reading
	*p = Part{Bytes: part, Payloads: payloads, Last: last, answer: a}
	if err := a.codec.Read(p); err != nil {
		return err
	}
	a.complete = a.complete || p.Complete
	waiting := a.waiting
	switch {
	case p.Failed:
		return a.fault(p)
	case a.mayLeave(p):
		return a.pass(p, waiting != nil)
	}
	return a.hold(p)
}

// mayLeave decides whether a part goes to the agent now. Nothing does after a call
// that has neither passed nor been ruled on, except what the reader gets before that
// call in any order of events. It marks the calls of the part that pass.
func (a *Answer) mayLeave(p *Part) bool {
	calls, others := a.undecided(p)
	if a.waiting != nil {
		return a.mayFollow(p, calls, others)
	}
	switch {
	case p.Withheld:
		return false
	case a.held():
		return len(calls) == 0 && p.Overtakes
	case others:
		return false
	case len(calls) == 0:
		return !p.Ends || a.continued == 0
	case !a.traits.Delays:
		return a.allowedByName(calls)
	case len(calls) == 1 && calls[0].check != nil:
		a.waiting = calls[0]
	}
	return false
}

// mayFollow is [Answer.mayLeave] for a part after the beginning of a call that waits for
// its next event. A part without calls waits too.
func (a *Answer) mayFollow(p *Part, calls []*Unit, others bool) bool {
	waiting := a.waiting
	if len(calls) == 0 && !p.Ends && !p.Withheld {
		return false
	}
	a.waiting = nil
	own := !p.Withheld && !others && len(calls) == 1 && calls[0] == waiting
	if own && a.allowedByName(calls) {
		return true
	}
	waiting.check = nil
	return false
}

// undecided lists the calls of the part that have not passed. Others reports whether
// the answer has another such call, which is not waiting for its next event.
func (a *Answer) undecided(p *Part) (calls []*Unit, others bool) {
	for _, u := range a.calls {
		switch {
		case u.passed:
		case slices.Contains(p.units, u):
			calls = append(calls, u)
		case !u.Void:
			others = true
		}
	}
	for _, u := range p.units {
		if u != nil && u.Call && !u.passed && !slices.Contains(calls, u) {
			calls = append(calls, u)
		}
	}
	return calls, others
}

// allowedByName asks for each call whether its tool is allowed by name, and marks the
// calls if all are.
func (a *Answer) allowedByName(calls []*Unit) bool {
	for _, u := range calls {
		if u.check == nil {
			return false
		}
	}
	for _, u := range calls {
		c := a.codec.Call(u)
		c.Arguments = "" // the verdict is on the name
		if !a.limits.Pass(c) {
			return false
		}
	}
	for _, u := range calls {
		u.passed, u.begun = true, true
	}
	return true
}

// pass lets the part go, as it came or rewritten, after what waited for it.
func (a *Answer) pass(p *Part, waited bool) error {
	if !a.codec.Verbatim(p) {
		a.plan = Plan{}
		out, err := a.codec.Rewrite(p.Bytes, p.units, &a.plan)
		a.out.Add(out)
		return err
	}
	if waited {
		for i := range a.kept.Len() {
			_, units := a.kept.At(i)
			a.codec.Disposed(&Part{units: units}, Sent)
		}
		a.out.Add(a.kept.Bytes())
		a.kept = HoldBuffer[[]*Unit]{}
	}
	a.out.Add(p.Bytes)
	a.codec.Disposed(p, Sent)
	a.learn(p)
	return nil
}

// hold keeps the part back.
func (a *Answer) hold(p *Part) error {
	for _, u := range p.units {
		if u != nil && !u.passed && u != a.waiting {
			u.check = nil
		}
	}
	a.codec.Disposed(p, Held)
	if err := a.kept.Hold(p.Bytes, p.units, a.limits.MaxBytes); err != nil {
		return err
	}
	a.learn(p)
	return nil
}

// fault passes an error that upstream reports inside a good answer. What was held is
// void.
func (a *Answer) fault(p *Part) error {
	if slices.ContainsFunc(p.units, func(u *Unit) bool { return u != nil && u.Call }) {
		return NotUnderstood("it reports an error and a call in one event")
	}
	a.codec.Disposed(p, Voided)
	p.Void()
	return a.pass(p, false)
}
