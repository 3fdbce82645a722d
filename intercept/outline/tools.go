package outline

import (
	"slices"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Tools summarizes a list of tools that a request offers. It implements [strictjson.ItemReader].
type Tools struct {
	Len int
	// Others reports whether an item has another type than those of [Schema.ToolTypes]: the
	// provider may run it.
	Others bool

	schema *Schema
	typed  bool // the item that is being read has a type
	own    bool // that is one of the agent's own tools
}

var _ strictjson.ItemReader = (*Tools)(nil)

// NewTools returns the summary of no tools yet.
func NewTools(s *Schema) Tools { return Tools{schema: s} }

// Reset implements [strictjson.ItemReader].
func (l *Tools) Reset() { *l = NewTools(l.schema) }

// Part implements [strictjson.ItemReader].
func (l *Tools) Part(_, _ []byte) {}

// Member implements [strictjson.ItemReader].
func (l *Tools) Member(name, value []byte) {
	if string(name) == "type" {
		l.typed, l.own = true, l.isOwn(value)
	}
}

// ItemEnd implements [strictjson.ItemReader].
func (l *Tools) ItemEnd() {
	own := l.own
	if !l.typed {
		own = slices.Contains(l.schema.ToolTypes, "")
	}
	l.Len, l.Others = l.Len+1, l.Others || !own
	l.typed, l.own = false, false
}

func (l *Tools) isOwn(value []byte) bool {
	return slices.ContainsFunc(l.schema.ToolTypes, func(typ string) bool { return typ != "" && IsString(value, typ) })
}
