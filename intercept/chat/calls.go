package chat

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// call is one tool call as its fragments have built it so far.
type call struct {
	intercept.Unit
	place  wire.Place
	kind   wire.Kind
	index  int // as upstream numbered it; where it did not, clients read 0
	hasID  bool
	id     string
	name   string
	args   strictjson.Fragments
	half   string   // at the end of what was rendered of it, see [strictjson.CutHalf]
	object bool     // the arguments stood there as an object, not as a string
	own    []string // fields that the dialect has no meaning for, as raw name and value
	inner  []string // the same beside name and arguments
	choice *choice
}

// callOf is the call that is a unit of the answer.
func callOf(u *intercept.Unit) *call { return u.Of.(*call) }

// ruling is the ruling on a call, the zero value for none.
func (c *call) ruling() intercept.Ruling {
	r, _ := c.Ruling()
	return r
}

// judge doubts arguments that are not one strict JSON object. None at all are
// no arguments.
func (c *call) judge() {
	if c.args.Halved() {
		c.AddAmbiguity(intercept.AmbiguousHalf)
	}
	switch args := c.args.String(); {
	case c.kind == wire.KindCustom || args == "":
	case c.object:
		c.AddAmbiguity(intercept.AmbiguousObject)
	default:
		c.CheckArguments(args)
	}
}

// keep remembers fields of a fragment (thought signatures) that have to come
// back with the call.
func (c *call) keep(f *wire.Fragment) {
	c.own = keepFields(c.own, f.Own)
	c.inner = keepFields(c.inner, f.Inner)
}

// keepFields adds fields, of which the first of each name counts.
func keepFields(kept, more []string) []string {
next:
	for _, field := range more {
		name, _, _ := strings.Cut(field, ":")
		for _, have := range kept {
			if strings.HasPrefix(have, name+":") {
				continue next
			}
		}
		kept = append(kept, field)
	}
	return kept
}

// whole reports whether the arguments so far are a complete JSON value.
func (c *call) whole() bool {
	return c.args.Len() > 0 && strictjson.Strict([]byte(c.args.String())) == nil
}

// assembler is the calls of one place of one choice, in the order they opened.
// Which fragment belongs to which call is the question that clients answer
// differently; where known clients disagree the call is doubted, so that no
// rule allows it and the reviewer is told.
type assembler struct{ calls []*call }

// take adds a fragment and returns its call, and whether the fragment opened it.
func (r *assembler) take(f *wire.Fragment) (c *call, opened bool) {
	c = r.find(f)
	if c == nil {
		c = r.open(f)
		opened = true
	}
	if c.kind != f.Kind && (f.Name != "" || f.Args != "") {
		if c.name == "" && c.args.Len() == 0 {
			c.kind = f.Kind
		} else {
			c.AddAmbiguity("It begins as one kind of call and goes on as another.")
		}
	}
	if c.id == "" {
		c.id = strings.Clone(f.ID)
	}
	c.hasID = c.hasID || f.HasID
	if c.name == "" {
		c.name = strings.Clone(f.Name)
	}
	if (f.Object && c.args.Len() > 0) || (c.object && f.Args != "") {
		c.AddAmbiguity("Its arguments came partly as text and partly as an object.")
	}
	c.object = c.object || f.Object
	if !opened && c.repeatedBy(f) {
		c.args.Reset()
	}
	c.args.WriteString(f.Args)
	c.keep(f)
	return c, opened
}

// repeatedBy reports whether a fragment says the whole call so far again: where
// `message` stands beside `delta`, some providers send in it what has come so
// far.
func (c *call) repeatedBy(f *wire.Fragment) bool {
	return f.Place == wire.InMessage && f.Name != "" && f.Name == c.name && f.ID == c.id && !f.Object && !c.object && strings.HasPrefix(f.Args, c.args.String())
}

// find returns the call that the fragment continues, nil when it opens one.
func (r *assembler) find(f *wire.Fragment) *call {
	if f.Kind == wire.KindLegacy {
		return r.legacy(f)
	}
	if !f.HasIndex {
		return r.withoutIndex(f)
	}
	c := r.at(f.Index)
	if c == nil {
		return r.newIndex(f)
	}
	return r.sameIndex(c, f)
}

// legacy: there is one function_call a choice.
func (r *assembler) legacy(f *wire.Fragment) *call {
	for _, c := range r.calls {
		if c.kind == wire.KindLegacy {
			if f.Name != "" && c.name != "" && f.Name != c.name {
				c.AddAmbiguity("Its name changes from one fragment to the next.")
			}
			return c
		}
	}
	return nil
}

// withoutIndex: Mistral and Gemini number no calls; a name opens one.
func (r *assembler) withoutIndex(f *wire.Fragment) *call {
	last := r.lastEntry()
	switch {
	case last == nil:
		return nil
	case f.Name != "" && (f.ID == "" || f.ID != last.id):
		return nil
	case f.Name != "" && f.Name != last.name:
		last.AddAmbiguity("Its name changes from one fragment to the next.")
	case f.ID != "" && f.ID != last.id:
		last.AddAmbiguity("Its id changes from one fragment to the next.")
	}
	return last
}

// newIndex: a fragment at an index that has no call yet opens one, unless it
// has neither id nor name: some servers number the last fragment of a call
// wrongly, and clients add it to the last call or drop it.
func (r *assembler) newIndex(f *wire.Fragment) *call {
	last := r.lastEntry()
	if last == nil || f.ID != "" || f.Name != "" {
		return nil
	}
	last.AddAmbiguity("A part of its arguments came under the number of another call.")
	return last
}

func (r *assembler) sameIndex(c *call, f *wire.Fragment) *call {
	newID := f.ID != "" && c.id != "" && f.ID != c.id
	switch {
	case f.Name == "":
		if newID {
			c.AddAmbiguity("Its id changes from one fragment to the next.")
		}
		return c
	case newID:
		return r.collide(c)
	case f.ID != "" && f.ID == c.id && f.Name == c.name, c.name == "":
		return c
	case f.Args != "" && c.whole():
		return r.collide(c)
	case f.Name != c.name:
		c.AddAmbiguity("Its name changes from one fragment to the next.")
	}
	return c
}

// collide doubts a call whose number another call takes too: clients that go by
// the number read both as one.
func (r *assembler) collide(c *call) *call {
	c.AddAmbiguity(sharedIndex)
	return nil
}

const sharedIndex = "Another call of the same answer has the same number; some clients read both as one."

func (r *assembler) open(f *wire.Fragment) *call {
	c := &call{Unit: intercept.Unit{Call: true}, place: f.Place, kind: f.Kind, index: f.Index}
	c.Of = c
	for _, other := range r.calls {
		if other.kind == wire.KindLegacy || f.Kind == wire.KindLegacy {
			continue
		}
		if other.index == c.index {
			other.AddAmbiguity(sharedIndex)
			c.AddAmbiguity(sharedIndex)
		}
		if f.ID != "" && other.id == f.ID {
			other.AddAmbiguity(intercept.AmbiguousID)
			c.AddAmbiguity(intercept.AmbiguousID)
		}
	}
	r.calls = append(r.calls, c)
	return c
}

// at returns the latest call with an index.
func (r *assembler) at(index int) *call {
	for i := len(r.calls) - 1; i >= 0; i-- {
		if c := r.calls[i]; c.kind != wire.KindLegacy && c.index == index {
			return c
		}
	}
	return nil
}

// lastEntry returns the latest call that is not the legacy function_call.
func (r *assembler) lastEntry() *call {
	for i := len(r.calls) - 1; i >= 0; i-- {
		if r.calls[i].kind != wire.KindLegacy {
			return r.calls[i]
		}
	}
	return nil
}

func (r *assembler) last() *call {
	if len(r.calls) == 0 {
		return nil
	}
	return r.calls[len(r.calls)-1]
}

// sameAs reports whether two assemblers hold the same calls, as providers send
// that put `message` beside `delta`.
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
