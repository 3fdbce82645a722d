package chat

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// call is one tool call, assembled from its fragments so far.
type call struct {
	intercept.Unit
	place  messagePlace
	kind   callKind
	index  int // upstream's number; without one clients read 0
	hasID  bool
	id     string
	name   string
	args   strictjson.Fragments
	object bool     // the arguments are an object, not a string
	own    []string // fields of no known meaning, as raw name and value
	inner  []string // the same beside name and arguments
	choice *choice
	sent   bool // the agent has it in canonical form
}

// callOf is the call that is a unit of the answer.
func callOf(u *intercept.Unit) *call { return u.Of.(*call) }

// isLegacy reports whether the call has the old form, function_call.
func (c *call) isLegacy() bool { return c.kind == kindLegacy }

// ruling is the ruling on a call, the zero value for none.
func (c *call) ruling() intercept.Ruling {
	r, _ := c.Ruling()
	return r
}

// ambiguities are those of the call if nothing of it follows: arguments that are not one
// strict JSON object are one. A call may have none.
func (c *call) ambiguities() intercept.Ambiguities {
	list := slices.Clip(c.Ambiguities)
	if calls := c.choice.calls(); c.choice.cut != "" && calls[len(calls)-1] == c {
		list.AddAmbiguity(c.choice.cut)
	}
	if c.args.Halved() {
		list.AddAmbiguity(intercept.AmbiguousHalf)
	}
	switch args := c.args.String(); {
	case c.kind == kindCustom || args == "":
	case c.object:
		list.AddAmbiguity(intercept.AmbiguousObject)
	default:
		list.CheckArguments(args)
	}
	return list
}

// keep stores the fields of a fragment that have to return with the call, such as
// thought signatures, and returns how many bytes of them are kept.
func (c *call) keep(f *fragment) (kept int) {
	kept += keepFields(&c.own, f.own)
	return kept + keepFields(&c.inner, f.inner)
}

// keepFields appends the fields whose names are new, and returns their length.
func keepFields(into *[]string, more []string) (kept int) {
	for _, field := range more {
		name, _, _ := strings.Cut(field, ":")
		if !slices.ContainsFunc(*into, func(have string) bool { return strings.HasPrefix(have, name+":") }) {
			*into = append(*into, field)
			kept += len(field)
		}
	}
	return kept
}

// whole reports whether the arguments so far are a complete JSON value.
func (c *call) whole() bool { return c.args.Whole() }

// assembler assembles the calls of one place of one choice, in the order in which they
// opened. Clients disagree about which fragment belongs to which call. A call that they
// read in different ways becomes ambiguous: no rule allows it, and the reviewer sees why.
type assembler struct{ calls []*call }

// take adds a fragment and returns its call, whether the fragment opened it, and how many
// bytes of it are kept.
func (r *assembler) take(f *fragment) (c *call, opened bool, kept int) {
	if c = r.find(f); c == nil {
		c, opened = r.open(f), true
	}
	return c, opened, c.add(f, opened)
}

// add adds a fragment to the call, and returns how many bytes of it are kept. The first id
// and the first name count.
func (c *call) add(f *fragment, opened bool) (kept int) {
	c.setKind(f)
	if c.id == "" {
		c.id = strings.Clone(f.id)
		kept += len(c.id)
	}
	c.hasID = c.hasID || f.hasID
	if c.name == "" {
		c.name = strings.Clone(f.name)
		kept += len(c.name)
	}
	if (f.object && c.args.Len() > 0) || (c.object && f.args != "") {
		c.AddAmbiguity("Its arguments came partly as text and partly as an object.")
	}
	c.object = c.object || f.object
	if !opened && c.repeatedBy(f) {
		c.args.Reset()
	}
	c.args.WriteString(f.args)
	return kept + len(f.args) + c.keep(f)
}

// setKind takes the kind of a fragment for the call, while that has no contents.
func (c *call) setKind(f *fragment) {
	switch {
	case c.kind == f.kind || (f.name == "" && f.args == ""):
	case c.name == "" && c.args.Len() == 0:
		c.kind = f.kind
	default:
		c.AddAmbiguity("It begins as one kind of call and continues as another.")
	}
}

// repeatedBy reports whether a fragment repeats the whole call so far. In a message
// beside the delta some providers do. A fragment is not compared with arguments that are
// longer: the halves of a pair that they have are a third shorter as a character.
func (c *call) repeatedBy(f *fragment) bool {
	if 3*len(f.args) < 2*c.args.Len() {
		return false
	}
	return f.place == inMessage && f.name != "" && f.name == c.name && f.id == c.id && !f.object && !c.object && strings.HasPrefix(f.args, c.args.String())
}

// find returns the call that the fragment continues, nil when it opens one.
func (r *assembler) find(f *fragment) *call {
	if f.kind == kindLegacy {
		return r.legacy(f)
	}
	if !f.hasIndex {
		return r.withoutIndex(f)
	}
	c := r.latest(f.index)
	if c == nil {
		return r.newIndex(f)
	}
	return r.sameIndex(c, f)
}

// legacy returns the function_call of the choice. There is at most one.
func (r *assembler) legacy(f *fragment) *call {
	for _, c := range r.calls {
		if c.isLegacy() {
			if f.name != "" && c.name != "" && f.name != c.name {
				c.AddAmbiguity(changedName)
			}
			return c
		}
	}
	return nil
}

// withoutIndex returns the call that a fragment without a number continues. Mistral and
// Gemini number no calls; a name opens one.
func (r *assembler) withoutIndex(f *fragment) *call {
	last := r.latest(-1)
	switch {
	case last == nil:
		return nil
	case f.name != "" && (f.id == "" || f.id != last.id):
		return nil
	case f.name != "" && f.name != last.name:
		last.AddAmbiguity(changedName)
	case f.id != "" && f.id != last.id:
		last.AddAmbiguity(changedID)
	}
	return last
}

// newIndex returns the call that a fragment with a new number continues: none, unless it
// has neither id nor name. Some servers number the last fragment of a call wrongly;
// clients add it to the last call or drop it.
func (r *assembler) newIndex(f *fragment) *call {
	last := r.latest(-1)
	if last == nil || f.id != "" || f.name != "" {
		return nil
	}
	last.AddAmbiguity("A part of its arguments came under the number of another call.")
	return last
}

// sameIndex returns the call that a fragment with the number of call c continues. Where
// it opens another, [assembler.open] marks both as ambiguous.
func (r *assembler) sameIndex(c *call, f *fragment) *call {
	newID := f.id != "" && c.id != "" && f.id != c.id
	switch {
	case f.name == "":
		if newID {
			c.AddAmbiguity(changedID)
		}
		return c
	case newID:
		return nil
	case f.id != "" && f.id == c.id && f.name == c.name, c.name == "":
		return c
	case f.args != "" && c.whole():
		return nil
	case f.name != c.name:
		c.AddAmbiguity(changedName)
	}
	return c
}

// Reasons why a call is ambiguous.
const (
	changedName = "Its name changes from one fragment to the next."
	changedID   = "Its id changes from one fragment to the next."
	sharedIndex = "Another call of the same answer has the same number; some clients read both as one."
)

// open adds the call that a fragment opens. The fragment's contents are not in it yet.
func (r *assembler) open(f *fragment) *call {
	c := &call{Unit: intercept.Unit{Call: true}, place: f.place, kind: f.kind, index: f.index}
	c.Of = c
	for _, other := range r.calls {
		if other.kind == kindLegacy || f.kind == kindLegacy {
			continue
		}
		if other.index == c.index {
			c.AddAmbiguity(sharedIndex)
			if !other.Left() { // else clients have it with another number than they get for this one
				other.AddAmbiguity(sharedIndex)
			}
		}
		if f.id != "" && other.id == f.id {
			other.AddAmbiguity(intercept.AmbiguousID)
			c.AddAmbiguity(intercept.AmbiguousID)
		}
	}
	r.calls = append(r.calls, c)
	return c
}

// latest returns the latest entry of tool_calls with an index or, for -1, with any.
func (r *assembler) latest(index int) *call {
	for _, c := range slices.Backward(r.calls) {
		if !c.isLegacy() && (index < 0 || c.index == index) {
			return c
		}
	}
	return nil
}

// sameAs reports whether two assemblers have the same calls.
func (r *assembler) sameAs(other *assembler) bool {
	if len(r.calls) != len(other.calls) {
		return false
	}
	for i, c := range r.calls {
		o := other.calls[i]
		if c.id != o.id || c.name != o.name || c.kind != o.kind || c.args.String() != o.args.String() {
			return false
		}
	}
	return true
}
