package messages

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// kind is what an event does.
type kind int

const (
	kindOther kind = iota // nothing that an answer is made of
	kindPing
	kindMessageStart
	kindBlockStart
	kindBlockDelta
	kindBlockStop
	kindMessageDelta
	kindMessageStop
	kindError
)

var kinds = map[string]kind{
	"ping":                kindPing,
	"message_start":       kindMessageStart,
	"content_block_start": kindBlockStart,
	"content_block_delta": kindBlockDelta,
	"content_block_stop":  kindBlockStop,
	"message_delta":       kindMessageDelta,
	"message_stop":        kindMessageStop,
	"error":               kindError,
}

// event is one payload of a stream, read.
type event struct {
	raw     string
	kind    kind
	named   bool     // its name is its type
	unnamed bool     // it has no name
	typed   bool     // its data have a type
	index   int      // of the block that it is about
	block   *opening // that it opens
	delta   *delta   // that it adds to a block
	message message  // that it starts, or what it says of the message's end
}

// message is what a whole answer says, or the first and the last event of a
// streamed one.
type message struct {
	id, model string // raw JSON values
	blocks    []opening
	stop      string // the stop reason, "" when there is none
	usage     string // raw, "" when absent or null
	container string // the id of the provider's container, raw
	object    bool   // it is a message
	failed    bool   // it is an error
}

// decode reads a payload of a stream that is strict JSON, and that stands in an
// event with the given names. It refuses what it has no meaning for and what
// could be a call.
func decode(payload string, names []string) (*event, error) {
	e := &event{raw: payload}
	root := gjson.Parse(payload)
	d := decoder{event: e}
	if !root.IsObject() {
		d.Unknown("", root)
		return e, d.Err()
	}
	if d.kind(root, names) {
		root.ForEach(func(k, v gjson.Result) bool { return d.top(k.Str, v) })
	}
	if d.OK() {
		d.complete(root)
	}
	return e, d.Err()
}

type decoder struct {
	intercept.Reading
	event *event
	index bool // there was one
}

// kind finds out what the event does. Its data say so; SDKs go by its name too,
// and put the name where the data have no type. Where the two would make
// different events of it, none is known.
func (d *decoder) kind(root gjson.Result, names []string) bool {
	t := root.Get("type")
	if t.Exists() && t.Type != gjson.String && t.Type != gjson.Null {
		return d.Fail("the type of an event is not a string")
	}
	said := t.Str
	d.event.typed, d.event.unnamed = said != "", len(names) == 0
	for _, name := range names {
		if said == "" && name != "message" {
			said = name
		}
	}
	e := d.event
	e.kind = kinds[said]
	if e.kind == kindOther && root.Get("error").Type != gjson.Null {
		e.kind = kindError
	}
	for _, name := range names {
		named, known := kinds[name]
		e.named = e.named || (known && named == e.kind)
		switch {
		case name == said || name == "" || name == "message" || (!known && e.kind == kindOther):
		case named == kindError && e.kind == kindOther:
			e.kind = kindError
		case !known && (e.kind == kindPing || e.kind == kindError):
		case named != e.kind:
			return d.Fail("an event is named otherwise than its data say")
		}
	}
	return true
}

func (d *decoder) top(key string, v gjson.Result) bool {
	e := d.event
	switch {
	case key == "index" && e.kind >= kindBlockStart && e.kind <= kindBlockStop:
		d.index = true
		return d.Number(&e.index, v, "the index of a block")
	case key == "content_block" && e.kind == kindBlockStart:
		e.block = &opening{}
		return d.block(e.block, v)
	case key == "delta" && e.kind == kindBlockDelta:
		e.delta = &delta{}
		return d.delta(e.delta, v)
	case key == "message" && e.kind == kindMessageStart:
		return d.message(&e.message, v)
	case key == "delta" && e.kind == kindMessageDelta:
		return d.ending(&e.message, v)
	case key == "usage" && e.kind == kindMessageDelta:
		return d.usage(&e.message, v)
	case key == "context_management":
		return d.report(v)
	case key == "type" || (key == "error" && e.kind == kindError):
		return d.Unknown("", v)
	}
	return d.Unknown(key, v, "type", "index", "content_block", "delta", "message", "usage", "error")
}

// complete refuses events that lack what makes them one, and others that a
// client could take for a call.
func (d *decoder) complete(root gjson.Result) bool {
	e := d.event
	switch e.kind {
	case kindBlockStart, kindBlockDelta, kindBlockStop:
		if !d.index || (e.kind == kindBlockStart && e.block == nil) || (e.kind == kindBlockDelta && e.delta == nil) {
			return d.Fail("an event of a block says not which, or not what")
		}
	case kindMessageStart:
		if !e.message.object {
			return d.Fail("a message starts without being there")
		}
	case kindOther:
		t := strings.ToLower(root.Get("type").String())
		if strings.Contains(t, "call") || strings.Contains(t, "tool") {
			return d.Fail("an event looks like a call of another API")
		}
	}
	if strictjson.NamedInput(root) {
		return d.Fail("an event is a call itself")
	}
	return true
}

// decodeWhole reads a whole answer as [decode] does an event.
func decodeWhole(payload string) (*message, error) {
	m := &message{}
	root := gjson.Parse(payload)
	d := decoder{event: &event{}}
	if !root.IsObject() {
		d.Unknown("", root)
		return m, d.Err()
	}
	m.failed = root.Get("type").Str == "error" || root.Get("error").Type != gjson.Null
	if d.message(m, root); m.failed {
		m.object = false
	}
	return m, d.Err()
}

// message reads a message: a whole answer, or the start of a streamed one.
func (d *decoder) message(m *message, v gjson.Result) bool {
	if !v.IsObject() || strictjson.NamedInput(v) {
		return d.Fail("a message is not an object, or is a call itself")
	}
	m.object = true
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "content":
			return d.content(m, v)
		case "id":
			m.id = v.Raw
		case "model":
			m.model = v.Raw
		case "type", "role", "error":
		case "usage":
			return d.usage(m, v)
		default:
			return d.end(m, key, v)
		}
		return d.Unknown("", v)
	})
	return d.OK()
}

// content reads the blocks of a message.
func (d *decoder) content(m *message, v gjson.Result) bool {
	if !v.IsArray() {
		return d.Unknown("", v)
	}
	v.ForEach(func(_, v gjson.Result) bool {
		if len(m.blocks) == maxBlocks {
			return d.Fail("it has too many blocks")
		}
		m.blocks = append(m.blocks, opening{})
		return d.block(&m.blocks[len(m.blocks)-1], v)
	})
	return d.OK()
}

// ending reads what the last event of a stream says of the message.
func (d *decoder) ending(m *message, v gjson.Result) bool {
	if !v.IsObject() || strictjson.NamedInput(v) {
		return d.Fail("the end of a message is not an object, or is a call itself")
	}
	v.ForEach(func(k, v gjson.Result) bool { return d.end(m, k.Str, v) })
	return d.OK()
}

// end reads a field that stands in a message, or at its end.
func (d *decoder) end(m *message, key string, v gjson.Result) bool {
	switch key {
	case "stop_reason":
		return d.Text(&m.stop, v, "a stop reason")
	case "container":
		m.container = v.Get("id").Raw
		return d.Unknown("", v)
	case "context_management", "safeguard_results":
		return d.report(v)
	}
	return d.Unknown(key, v, "id", "type", "role", "content", "usage", "stop_reason", "safeguard_results")
}

func (d *decoder) usage(m *message, v gjson.Result) bool {
	if v.IsObject() {
		m.usage = v.Raw
	}
	return d.Unknown("", v)
}
