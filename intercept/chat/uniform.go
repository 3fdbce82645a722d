package chat

import (
	"github.com/tidwall/gjson"
)

// A call is uniform if all known clients read every event with a part of it alike: the
// event fits a schema of known fields, its envelope is that of the answer, and its place
// in the stream leaves one way to assemble the call. A call that is not uniform is
// released in canonical form.

// uniform reports whether all clients read a fragment of call c alike at its place: it
// opens the next call of its choice, or continues the call of the fragment before.
func (r *assembler) uniform(f *fragment, c *call, opened bool, before *call) bool {
	numbered := f.kind == kindLegacy || (f.hasIndex && f.index == len(r.calls)-1)
	if f.place != inDelta || c != r.last() || !numbered {
		return false
	}
	s := &callSchemas[f.kind]
	if opened {
		return f.name != "" && s.opening.Fits(gjson.Parse(f.raw))
	}
	return c == before && c.kind == f.kind && f.name == "" && f.id == "" && s.more.Fits(gjson.Parse(f.raw))
}

// opensNext reports whether a fragment opens the next call, after calls that have passed.
func (r *assembler) opensNext(f *fragment) bool {
	last := r.last()
	return f.index == len(r.calls) && f.id != "" && f.name != "" && (last == nil || last.Passed())
}

// continuesLast reports whether a fragment continues the last call, which passes.
func (r *assembler) continuesLast(f *fragment) bool {
	last := r.last()
	if last == nil || f.index != last.index || f.index != len(r.calls)-1 {
		return false
	}
	return (f.id == "" || f.id == last.id) && (f.name == "" || f.name == last.name) && last.Passing()
}
