package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/wire"
)

// streams reports whether a fragment is one that all clients read alike, so
// that it may pass unbuffered if its tool is allowed by name: the opening of
// the next call, or the continuation of the last one.
func (p *eventBatch) streams(c *choice, f *wire.Fragment) bool {
	r := &c.assemblers[wire.InDelta]
	if f.Place != wire.InDelta || f.Kind != wire.KindFunction || !f.HasIndex || f.Object || p.limits.Pass == nil || p.req.Several() || p.othersCall(c) {
		return false
	}
	last := r.last()
	if f.Index == len(r.calls) {
		return f.ID != "" && f.Name != "" && (last == nil || last.Passed())
	}
	same := last != nil && f.Index == last.index && (f.ID == "" || f.ID == last.id) && (f.Name == "" || f.Name == last.name)
	return same && f.Index == len(r.calls)-1 && last.Passing()
}

// othersCall reports whether another choice has calls. Some clients read all choices as
// one.
func (p *eventBatch) othersCall(c *choice) bool {
	for _, other := range p.choices {
		if other != c && len(other.calls()) > 0 {
			return true
		}
	}
	return false
}

// verify holds what is left of the choice's calls that pass unbuffered and are in
// doubt. Ended reports whether no fragment of the choice should follow.
func (p *eventBatch) verify(c *choice, ended bool) {
	calls := c.assemblers[wire.InDelta].calls
	for i, call := range calls {
		last := ended && i == len(calls)-1
		if last && c.cut && call.Passing() {
			call.AddAmbiguity(intercept.AmbiguousCut)
		}
		if call.Passing() && (len(call.Ambiguities) > 0 || (last && !call.complete())) {
			call.Interrupt()
		}
	}
}

// withinAnother reports whether a call of another choice has passed in part. Clients
// that read all choices as one would add what follows to it.
func (p *eventBatch) withinAnother(c *choice) bool {
	for _, other := range p.choices {
		for _, call := range other.assemblers[wire.InDelta].calls {
			if other != c && call.Begun() && !call.whole() {
				return true
			}
		}
	}
	return false
}

// complete reports whether the arguments are whole, if there are any.
func (c *call) complete() bool { return c.args.Len() == 0 || c.whole() }
