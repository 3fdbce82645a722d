package chat

import (
	"bytes"

	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
)

// A call is uniform if every event that carries a part of it is read alike by all
// known clients: the event fits a schema of known fields, its envelope is that of
// the answer, and its place in the stream leaves no choice of how to assemble the
// call. A call that is not uniform is released in canonical form.

// plain reports whether every client that follows the standard finds the part's
// one event, and nothing else in it. The last part of a stream that lacks its
// blank line is lost in most clients.
func (p *eventBatch) plain() bool {
	if p.part.Last || len(p.part.Payloads) != 1 {
		return false
	}
	e := sse.Parse(p.part.Bytes)
	return len(e.Data) == 1 && len(e.Stray) == 0 && e.Name == nil && e.Indented == 0 && bytes.HasSuffix(p.part.Bytes, []byte("\n"))
}

// uniform reports whether an event that carries parts of calls fits, with the
// envelope that the answer began with.
func (p *eventBatch) uniform(c *wire.Chunk) bool {
	return len(c.Choices) == 1 && p.plain() && c.Head.Like(p.began) && wire.EventSchema.Fits(gjson.Parse(c.Raw))
}

// uniform reports whether all clients read the fragment alike at its place: it
// opens the next call of its choice, or continues the call of the fragment before.
func (r *assembler) uniform(f *wire.Fragment, c *call, opened bool, before *call) bool {
	if f.Place != wire.InDelta || c != r.last() || (f.Kind != wire.KindLegacy && (!f.HasIndex || f.Index != len(r.calls)-1)) {
		return false
	}
	s := &wire.CallSchemas[f.Kind]
	if opened {
		return f.Name != "" && s.Opening.Fits(gjson.Parse(f.Raw))
	}
	return c == before && c.kind == f.Kind && f.Name == "" && f.ID == "" && s.More.Fits(gjson.Parse(f.Raw))
}
