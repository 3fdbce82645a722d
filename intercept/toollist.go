package intercept

import (
	"slices"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// ToolList summarizes the tools that a request offers in its field tools. It is made while the
// request is read strictly. It implements [strictjson.ItemReader].
type ToolList struct {
	Len int
	// Others reports whether an item has another type than those of [RequestSchema.ToolTypes], or the
	// field is no array: the provider may run a tool.
	Others bool

	form  *RequestSchema
	typed bool // the item that is being read has a type
	own   bool // that is one of the agent's own tools
}

var _ strictjson.ItemReader = (*ToolList)(nil)

// Reset implements [strictjson.ItemReader].
func (l *ToolList) Reset() { *l = ToolList{form: l.form} }

// Part implements [strictjson.ItemReader].
func (l *ToolList) Part(_, _ []byte) {}

// Member implements [strictjson.ItemReader].
func (l *ToolList) Member(name, value []byte) {
	if string(name) == "type" {
		l.typed, l.own = true, l.isOwn(value)
	}
}

// ItemEnd implements [strictjson.ItemReader].
func (l *ToolList) ItemEnd() {
	own := l.own
	if !l.typed {
		own = slices.Contains(l.form.ToolTypes, "")
	}
	l.Len, l.Others = l.Len+1, l.Others || !own
	l.typed, l.own = false, false
}

func (l *ToolList) isOwn(value []byte) bool {
	return slices.ContainsFunc(l.form.ToolTypes, func(typ string) bool { return typ != "" && isString(value, typ) })
}
