package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// streams reports whether a fragment is one that all clients read alike, so
// that it may pass unbuffered if its tool is allowed by name: the opening of
// the next call, or the continuation of the last one.
func (p *passage) streams(c *choice, f *fragment) bool {
	r := &c.rosters[inDelta]
	if f.place != inDelta || f.kind != kindFunction || !f.hasIndex || f.object || p.limits.Pass == nil || p.going != nil || p.req.several() {
		return false
	}
	for _, other := range p.choices {
		if other != c && len(other.calls()) > 0 { // some clients read all choices as one
			return false
		}
	}
	last := r.last()
	if f.index == len(r.calls) {
		return f.id != "" && f.name != "" && (last == nil || last.passed)
	}
	return last != nil && f.index == last.index && f.index == len(r.calls)-1 && last.check != nil &&
		(f.id == "" || f.id == last.id) && (f.name == "" || f.name == last.name)
}

// several reports whether the request asks for more than one choice.
func (r *request) several() bool { return gjson.ParseBytes(r.Field("n")).Int() > 1 }

// allowedByName asks for each call that opens here whether its tool is allowed
// by name, and marks it.
func (p *passage) allowedByName() bool {
	for _, r := range p.refs {
		if r.call.check == nil || !r.opened && !r.call.passed {
			return false
		}
	}
	for _, r := range p.refs {
		if !r.call.passed && !p.limits.Pass(r.call.call()) {
			return false
		}
	}
	for _, r := range p.refs {
		r.call.passed, r.call.begun = true, true
	}
	return true
}

// check follows the arguments of a call that may pass unbuffered.
func (p *passage) check(call *call, f *fragment, streams bool) {
	if !streams {
		p.interrupt(call)
		return
	}
	if call.check == nil {
		call.check = intercept.NewArgumentsCheck()
	}
	if err := call.check.Add(f.args); err != nil {
		p.interrupt(call)
	}
}

// verify holds what is left of the choice's calls that pass unbuffered and are in
// doubt. Ended reports whether no fragment of the choice should follow.
func (p *passage) verify(c *choice, ended bool) {
	calls := c.rosters[inDelta].calls
	for i, call := range calls {
		last := ended && i == len(calls)-1
		if last && c.cut && call.passing() {
			call.Doubt(intercept.DoubtCut)
		}
		if call.passing() && (len(call.Doubts) > 0 || (last && !call.complete())) {
			p.interrupt(call)
		}
	}
}

// withinAnother reports whether a call of another choice has passed in part. Clients
// that read all choices as one would add what follows to it.
func (p *passage) withinAnother(c *choice) bool {
	for _, other := range p.choices {
		for _, call := range other.rosters[inDelta].calls {
			if other != c && call.begun && !call.whole() {
				return true
			}
		}
	}
	return false
}

// interrupt takes a call out of those that pass, and holds the part if it was one.
func (p *passage) interrupt(call *call) { p.interrupted = call.interrupt() || p.interrupted }

// interrupt takes the call out of those that pass: what is left of it is held and
// judged as doubtful. It reports whether the call was one of them.
func (c *call) interrupt() (passed bool) {
	c.check = nil
	if passed = c.passed; passed {
		c.passed = false
		c.Doubt(intercept.DoubtInterrupted)
	}
	return passed
}

// passing reports whether the call passes unbuffered, as far as it is known.
func (c *call) passing() bool { return c.passed || c.check != nil }

// complete reports whether the arguments are whole, if there are any.
func (c *call) complete() bool { return c.args.Len() == 0 || c.whole() }
