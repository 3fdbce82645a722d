package responses

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

const (
	ambiguousPrototype = "Its input has a field with a name (such as __proto__) under which some clients keep something else."
	ambiguousName      = "Its name changes from one event to the next."
	ambiguousID        = "Its id changes from one place of the answer to another."
	ambiguousAgent     = "The answer shows it several times, and not of the same agent of the provider."
	ambiguousCopies    = "The answer shows it several times, and not with the same arguments."
	ambiguousIndex     = "Another item of the same answer has the same number; some clients read both as one."
)

// markOdd notes why clients may read a call in different ways. Other items are ignored:
// no client runs them.
func (it *item) markOdd(reason string) {
	if it.call != nil {
		it.AddAmbiguity(reason)
	}
}

// checkShape notes the parts of a call that some clients cannot read, or read in another
// way.
func (it *item) checkShape() {
	e, c := it.entry, it.call
	if _, plain := e.input(c.form); !plain {
		it.AddAmbiguity(intercept.AmbiguousObject)
	}
	if v := e.field(c.form.field); !c.form.text && !c.form.unknown && (v.IsObject() || v.IsArray()) && !openInput.Fits(v) {
		it.AddAmbiguity(ambiguousPrototype)
	}
	if len(e.beside) > 0 {
		it.AddAmbiguity("It has something in " + strings.Join(e.beside, ", ") + " too, where some clients may look for arguments.")
	}
	if c.form.unknown {
		it.AddAmbiguity("It is of a type that heldcall does not know; its arguments are all that came of it.")
	}
}

// checkShared notes what an item has in common with another one of the same body, and
// should not.
func (it *item) checkShared(other *item) {
	if it.index >= 0 && it.index == other.index {
		it.markOdd(ambiguousIndex)
		other.markOdd(ambiguousIndex)
	}
	if it.call == nil || other.call == nil {
		return
	}
	if it.callID() != "" && it.callID() == other.callID() {
		it.markOdd(intercept.AmbiguousID)
		other.markOdd(intercept.AmbiguousID)
	}
	if it.entry.id != "" && it.entry.id == other.entry.id {
		it.call.sharedID = true
	}
}

// ambiguities are those of a call if nothing of the body follows.
func (b *body) ambiguities(it *item) intercept.Ambiguities {
	list, cut := it.ambiguities(), b.cut()
	switch isLast := it == b.items[len(b.items)-1]; {
	case it.entry.status == "incomplete":
		list.AddAmbiguity(cmp.Or(cut, intercept.AmbiguousCut))
	case isLast && cut != "":
		list.AddAmbiguity(cut)
	}
	return list
}

// cut is why the response ended otherwise than by the model's will, "" if it did not, or if that is
// not known.
func (b *body) cut() string {
	if b.object != nil && b.object.reason != "" {
		return intercept.AmbiguousEnd(b.object.reason)
	}
	refuses := func(it *item) bool {
		return it.entry.typ == "message" && it.entry.field(`content.#(type=="refusal")`).Exists()
	}
	if slices.ContainsFunc(b.items, refuses) {
		return intercept.AmbiguousEnd("refusal")
	}
	return ""
}

// ambiguities are those of the events of a call, and that it has no end, that its copies
// contradict each other, or that its input is not one strict JSON object.
func (it *item) ambiguities() intercept.Ambiguities {
	c, list := it.call, slices.Clip(it.Ambiguities)
	if !it.done {
		list.AddAmbiguity("The answer does not mark it as complete.")
	}
	input, began := it.input(), ""
	if c.began != nil && c.form.text {
		began, _ = c.began.input(c.form)
	}
	for _, p := range c.pieces {
		if p.fragments.Halved() {
			list.AddAmbiguity(intercept.AmbiguousHalf)
		}
		if !p.agrees(input, began) {
			list.AddAmbiguity("Its arguments came in parts that make up something else than the whole.")
		}
	}
	if !c.form.free && input != "" {
		list.CheckArguments(input)
	}
	return list
}

// agrees reports whether a piece is what the whole input has in its place. Began is the
// input with which the item began.
func (p *piece) agrees(input, began string) bool {
	if p.path != "" {
		input = gjson.Get(input, p.path).String()
	}
	return (!p.fragmented || began+p.fragments.String() == input) && (!p.complete || p.whole == input)
}
