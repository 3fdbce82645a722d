package chat

import (
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/tidwall/gjson"
)

// A call is uniform if all known clients read every event with a part of it alike: the
// event fits a schema of known fields, its envelope is that of the answer, and its place
// in the stream leaves one way to assemble the call. A call that is not uniform is
// released in canonical form.

// uniform reports whether all clients read a fragment of call c alike at its place: it
// opens the next call of its choice, or continues the call of the fragment before.
func (r *assembler) uniform(f *wire.Fragment, c *call, opened bool, before *call) bool {
	numbered := f.Kind == wire.KindLegacy || (f.HasIndex && f.Index == len(r.calls)-1)
	if f.Place != wire.InDelta || c != r.last() || !numbered {
		return false
	}
	s := &wire.CallSchemas[f.Kind]
	if opened {
		return f.Name != "" && s.Opening.Fits(gjson.Parse(f.Raw))
	}
	return c == before && c.kind == f.Kind && f.Name == "" && f.ID == "" && s.More.Fits(gjson.Parse(f.Raw))
}

// opensNext reports whether a fragment opens the next call, after calls that have passed.
func (r *assembler) opensNext(f *wire.Fragment) bool {
	last := r.last()
	return f.Index == len(r.calls) && f.ID != "" && f.Name != "" && (last == nil || last.Passed())
}

// continuesLast reports whether a fragment continues the last call, which passes.
func (r *assembler) continuesLast(f *wire.Fragment) bool {
	last := r.last()
	if last == nil || f.Index != last.index || f.Index != len(r.calls)-1 {
		return false
	}
	return (f.ID == "" || f.ID == last.id) && (f.Name == "" || f.Name == last.name) && last.Passing()
}
