package chat

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// streams reports whether a fragment is one that all clients read alike, so
// that it may pass unbuffered if its tool is allowed by name: the opening of
// the next call, or the continuation of the last one.
func (p *eventBatch) streams(c *choice, f *fragment) bool {
	r := &c.rosters[inDelta]
	if f.place != inDelta || f.kind != kindFunction || !f.hasIndex || f.object || p.limits.Pass == nil || p.req.several() || p.othersCall(c) {
		return false
	}
	last := r.last()
	if f.index == len(r.calls) {
		return f.id != "" && f.name != "" && (last == nil || last.Passed())
	}
	same := last != nil && f.index == last.index && (f.id == "" || f.id == last.id) && (f.name == "" || f.name == last.name)
	return same && f.index == len(r.calls)-1 && last.Passing()
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

// several reports whether the request asks for more than one choice.
func (r *request) several() bool { return gjson.ParseBytes(r.Field("n")).Int() > 1 }

// verify holds what is left of the choice's calls that pass unbuffered and are in
// doubt. Ended reports whether no fragment of the choice should follow.
func (p *eventBatch) verify(c *choice, ended bool) {
	calls := c.rosters[inDelta].calls
	for i, call := range calls {
		last := ended && i == len(calls)-1
		if last && c.cut && call.Passing() {
			call.Doubt(intercept.DoubtCut)
		}
		if call.Passing() && (len(call.Doubts) > 0 || (last && !call.complete())) {
			call.Interrupt()
		}
	}
}

// withinAnother reports whether a call of another choice has passed in part. Clients
// that read all choices as one would add what follows to it.
func (p *eventBatch) withinAnother(c *choice) bool {
	for _, other := range p.choices {
		for _, call := range other.rosters[inDelta].calls {
			if other != c && call.Begun() && !call.whole() {
				return true
			}
		}
	}
	return false
}

// complete reports whether the arguments are whole, if there are any.
func (c *call) complete() bool { return c.args.Len() == 0 || c.whole() }
