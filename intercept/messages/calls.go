package messages

import (
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// call is one tool call as its events have built it so far.
type call struct {
	id, name  string
	extras    string // the other fields that are released with it, see [extras]
	given     string // the input with which the block opened, raw
	fragments strictjson.Fragments
}

func newCall(o *opening) *call {
	return &call{id: strings.Clone(o.id), name: strings.Clone(o.name), given: strings.Clone(o.input)}
}

// empty reports whether the block opened without input: it follows in pieces, or there
// is none.
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

// arguments is the input of the call. A call that opens with an input and continues in
// pieces has both, because clients take the one, the other or both.
func (c *call) arguments() string {
	switch {
	case c.fragments.Len() == 0 && c.empty():
		return "{}"
	case c.empty():
		return c.fragments.String()
	}
	return c.given + c.fragments.String()
}

// block renders the block of the call with an id and an input, which is JSON.
func (c *call) block(id, input string) string {
	return `{"type":"tool_use","id":` + strictjson.Quote(id) + `,"name":` + strictjson.Quote(c.name) + `,"input":` + input + c.extras + `}`
}

// Why clients may read a call in different ways.
const (
	ambiguousIndex   = "Two blocks of the answer have the same number; some clients read both as one."
	ambiguousOrder   = "Pieces of two blocks alternate; clients that go by the last block read both as one."
	ambiguousLate    = "It continues after its end."
	ambiguousEnds    = "It ends twice, and some clients may run it twice."
	ambiguousOpenEnd = "It has no end; it may be longer than it looks."
	ambiguousUnnamed = "Some events of the answer have no name, and some clients skip those."
	ambiguousDelta   = "It contains pieces of another kind than input."
	ambiguousInput   = "It begins with an input and continues in pieces, of which clients take the one, the other or both."
)
