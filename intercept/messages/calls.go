package messages

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// call is one tool call as its events have built it so far.
type call struct {
	id, name  string
	extras    string // the other fields that go with it, see [answer.extras]
	given     string // the input that the block opened with, raw
	fragments strictjson.Fragments
}

func newCall(o *opening) *call {
	return &call{id: strings.Clone(o.id), name: strings.Clone(o.name), given: strings.Clone(o.input)}
}

// empty reports whether the block opened without input: it follows in pieces, or
// there is none.
func (c *call) empty() bool {
	v := gjson.Parse(c.given)
	switch {
	case v.IsObject():
		return strings.Trim(v.Raw, "{} \t\r\n") == ""
	case v.Type == gjson.String:
		return v.Str == ""
	}
	return v.Type == gjson.Null
}

// arguments is the input of the call. One that opens with an input and goes on
// in pieces has both, because clients take the one, the other or both.
func (c *call) arguments() string {
	switch {
	case c.fragments.Len() == 0 && c.empty():
		return "{}"
	case c.empty():
		return c.fragments.String()
	}
	return c.given + c.fragments.String()
}

// input takes a piece of the input of a call.
func (b *block) input(piece string) {
	c := b.call
	if piece != "" && c.given != "" && c.given != "{}" {
		b.AddAmbiguity("It begins with an input and goes on in pieces, of which clients take the one, the other or both.")
	}
	c.fragments.WriteString(piece)
}

// judge doubts arguments that are not one strict JSON object.
func (b *block) judge() {
	if b.CheckArguments(b.call.arguments()); b.call.fragments.Halved() {
		b.AddAmbiguity(intercept.AmbiguousHalf)
	}
}

// doubt notes why clients may read the events of a call in different ways; a block
// that is no call is read alike by all.
func (b *block) doubt(reason string) {
	if b != nil && b.call != nil {
		b.Odd = true
		b.MarkAmbiguous(reason)
	}
}

const (
	doubtShared    = "Two blocks of the answer have the same number; some clients read both as one."
	doubtAlternate = "Pieces of two blocks alternate; clients that go by the last block read both as one."
	doubtGoesOn    = "It goes on behind its end."
	doubtEndsTwice = "It ends twice, and some clients may run it twice."
	doubtOpenEnd   = "It has no end; it may be longer than it looks."
	doubtUnnamed   = "Some events of the answer have no name, and some clients skip those."
	doubtMixed     = "It holds pieces of another kind than input."
)
