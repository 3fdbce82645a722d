package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/responses/wire"
	"github.com/tidwall/gjson"
)

// doubtShape doubts what some clients cannot read, or read in another way.
func (it *item) doubtShape() {
	e, c := it.entry, it.call
	if _, plain := e.Input(c.form); !plain {
		it.AddAmbiguity(intercept.AmbiguousObject)
	}
	if v := e.Field(c.form.Field); !c.form.Text && !c.form.Unknown && (v.IsObject() || v.IsArray()) && !wire.OpenInput.Fits(v) {
		it.AddAmbiguity(doubtPrototype)
	}
	if len(e.Beside) > 0 {
		it.AddAmbiguity("It has something in " + strings.Join(e.Beside, ", ") + " too, where some clients may look for arguments.")
	}
	if c.form.Unknown {
		it.AddAmbiguity("It is of a type that heldcall does not know; its arguments are all that came of it.")
	}
}

const doubtIndex = "Another item of the same answer has the same number; some clients read both as one."

func (a *answer) doubtShared(it, other *item) {
	if it.index >= 0 && it.index == other.index {
		it.doubt(doubtIndex)
		other.doubt(doubtIndex)
	}
	if it.call != nil && other.call != nil && it.callID() != "" && it.callID() == other.callID() {
		it.doubt(intercept.AmbiguousID)
		other.doubt(intercept.AmbiguousID)
	}
	if it.call != nil && other.call != nil && it.entry.ID != "" && it.entry.ID == other.entry.ID {
		it.call.repeats, it.Odd = true, true
	}
}

// doubt notes why clients may read a call in different ways; other items are
// not run by anybody.
func (it *item) doubt(reason string) {
	if it.call != nil {
		it.AddAmbiguity(reason)
		it.Odd = true
	}
}

// Judge implements [intercept.Codec].
func (*answer) Judge(u *intercept.Unit) { itemOf(u).judge() }

// judge doubts a call whose copies contradict each other, or that is no strict
// JSON object.
func (it *item) judge() {
	c := it.call
	input := it.input()
	if !it.over {
		it.doubt("The answer never says that it is complete.")
	}
	began := ""
	if c.began != nil && c.form.Text {
		began, _ = c.began.Input(c.form)
	}
	for _, p := range c.pieces {
		truth := input
		if p.path != "" {
			truth = gjson.Get(input, p.path).String()
		}
		if p.fragments.Halved() {
			it.doubt(intercept.AmbiguousHalf)
		}
		if (p.came && began+p.fragments.String() != truth) || (p.stated && p.whole != truth) {
			it.doubt("Its arguments came in parts that make up something else than the whole.")
		}
	}
	if it.entry.Status == "incomplete" {
		it.AddAmbiguity(intercept.AmbiguousCut)
	}
	if !c.form.Free && input != "" {
		it.CheckArguments(input)
	}
}
