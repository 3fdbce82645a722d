package intercept

import (
	"slices"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// filter decides which parts of a stream reach the agent before the calls are ruled on:
// a call passes only if its tool is allowed by name, and nothing passes after a call
// that has neither passed nor been ruled on, except what every reader reads before it.
type filter struct {
	codec     Codec
	allowed   func(Call) bool // by the name of the tool; nil: none
	delays    bool            // see [Traits]
	resumes   bool            // see [Traits]
	continued bool            // the answer has continued after a denial
	calls     []*Unit         // of the body: as they began, after its end in the order of the codec
	waiting   *Unit           // a call that may pass; only its beginning was read
}

// event takes an event about a call. The error is an [*Error].
func (f *filter) event(e Event) error {
	u := e.Unit
	if !e.Uniform {
		if !f.resumes {
			if err := u.Differ(); err != nil {
				return err
			}
			e.Plain = false
		}
		u.Odd = true
	}
	switch {
	case e.Kind == EventOpen && e.Plain && f.mayPass(u):
		u.check = strictjson.NewArgumentsCheck()
	case u.check != nil && !e.Plain:
		u.Interrupt()
	}
	if u.check != nil && e.Kind != EventClose && u.check.Add(e.Text) != nil {
		u.Interrupt()
	}
	if u.check != nil && e.Kind == EventClose {
		if f.codec.Judge(u); len(u.Ambiguities) > 0 {
			u.Interrupt()
		}
	}
	return nil
}

// mayPass reports whether a call that begins may pass unbuffered.
func (f *filter) mayPass(u *Unit) bool {
	return f.allowed != nil && !f.continued && !u.Odd && len(u.Ambiguities) == 0
}

// mayLeave decides whether a part goes to the agent now, and marks the calls of the part
// that pass. Held reports whether parts are held.
func (f *filter) mayLeave(p *Part, held bool) bool {
	calls, others := f.undecided(p)
	if f.waiting != nil {
		return f.mayFollow(p, calls, others)
	}
	switch {
	case p.Withheld:
		return false
	case held:
		return len(calls) == 0 && p.Overtakes
	case others:
		return false
	case len(calls) == 0:
		return !p.Ends || !f.continued
	case !f.delays:
		return f.allowedByName(calls)
	case len(calls) == 1 && calls[0].check != nil:
		f.waiting = calls[0]
	}
	return false
}

// mayFollow is [filter.mayLeave] for a part after the beginning of a call that waits for
// its next event. A part without calls waits too.
func (f *filter) mayFollow(p *Part, calls []*Unit, others bool) bool {
	waiting := f.waiting
	if len(calls) == 0 && !p.Ends && !p.Withheld {
		return false
	}
	f.waiting = nil
	own := !p.Withheld && !others && len(calls) == 1 && calls[0] == waiting
	if own && f.allowedByName(calls) {
		return true
	}
	waiting.check = nil
	return false
}

// undecided lists the calls of the part that have not passed. Others reports whether the
// answer has another such call, which is not waiting for its next event.
func (f *filter) undecided(p *Part) (calls []*Unit, others bool) {
	for _, u := range f.calls {
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
func (f *filter) allowedByName(calls []*Unit) bool {
	for _, u := range calls {
		if u.check == nil {
			return false
		}
	}
	for _, u := range calls {
		c := f.codec.Call(u)
		c.Arguments = "" // the verdict is on the name
		if !f.allowed(c) {
			return false
		}
	}
	for _, u := range calls {
		u.passed, u.begun = true, true
	}
	return true
}

// mayRepeat reports whether the calls of a part of a known form can still be decided on
// as for the part from which the form was learned.
func (f *filter) mayRepeat(t *Template, held bool) bool {
	if u := t.Call; u != nil {
		return u.passed != held && u.passed == (u.check != nil)
	}
	return !t.Overtakes || f.waiting == nil // otherwise it waits with the call
}

// repeats decides whether a part of a known form goes to the agent now. Added is what it
// adds to the input of its call.
func (f *filter) repeats(t *Template, added string, held bool) bool {
	u := t.Call
	switch {
	case u == nil:
		return !held || t.Overtakes
	case u.passed && u.check.Add(added) == nil:
		return true
	}
	u.Interrupt()
	return false
}

// hold takes the calls of a part that is held out of those that may pass.
func (f *filter) hold(p *Part) {
	for _, u := range p.units {
		if u != nil && !u.passed && u != f.waiting {
			u.check = nil
		}
	}
}

// void removes the calls that have not passed.
func (f *filter) void() {
	f.waiting = nil
	f.calls = slices.DeleteFunc(f.calls, func(u *Unit) bool { return !u.passed })
}

// pending lists the calls that need a ruling.
func (f *filter) pending() (list []*Unit) {
	for _, u := range f.calls {
		if u.pending() {
			list = append(list, u)
		}
	}
	return list
}
