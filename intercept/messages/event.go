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
	kindOther kind = iota // no part of an answer
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

// event is one decoded payload of a stream.
type event struct {
	raw     string
	kind    kind
	named   bool     // its name is its type
	unnamed bool     // it has no name
	typed   bool     // its data have a type
	index   int      // of the block that it is about
	block   *opening // that it opens
	delta   *delta   // that it adds to a block
	message message  // that it starts, or the fields that end it
}

// message is a whole answer, or the first or the last event of a streamed one.
type message struct {
	id, model string // raw JSON values
	blocks    []opening
	stop      string // the stop reason, "" if there is none
	usage     string // raw, "" if absent or null
	container string // the id of the provider's container, raw
	object    bool   // it is a message
	failed    bool   // it is an error
}

// decode decodes a payload of a stream, which is strict JSON, in an event with the given
// names. It refuses what it does not know and what could be a call.
func decode(payload string, names []string) (*event, error) {
	e := &event{raw: payload}
	root := gjson.Parse(payload)
	d := decoder{event: e}
	if !root.IsObject() {
		d.Unknown("", root)
		return e, d.Err()
	}
	if d.kind(root, names) {
		root.ForEach(func(k, v gjson.Result) bool { return d.field(k.Str, v) })
	}
	if d.OK() {
		d.checkComplete(root)
	}
	return e, d.Err()
}

type decoder struct {
	intercept.Reading
	event    *event
	hasIndex bool
}

// kind determines the kind of the event by the type in its data. SDKs also go by its
// name, and use the name if the data have no type. If the two would make different
// events of it, it is refused.
func (d *decoder) kind(root gjson.Result, names []string) bool {
	t := root.Get("type")
	if t.Exists() && t.Type != gjson.String && t.Type != gjson.Null {
		return d.Fail("the type of an event is not a string")
	}
	e := d.event
	e.typed, e.unnamed = t.Str != "", len(names) == 0
	typ := t.Str
	for _, name := range names {
		if typ == "" && name != "message" {
			typ = name
		}
	}
	e.kind = kinds[typ]
	if e.kind == kindOther && root.Get("error").Type != gjson.Null {
		e.kind = kindError
	}
	for _, name := range names {
		if name != typ && !e.accepts(name) {
			return d.Fail("the name and the type of an event differ")
		}
		named, known := kinds[name]
		e.named = e.named || (known && named == e.kind)
	}
	return true
}

// accepts reports whether clients that go by a name, which is not the type of the event,
// read the event as the same one. It makes an event of no known kind an error that is
// named so.
func (e *event) accepts(name string) bool {
	named, known := kinds[name]
	switch {
	case name == "" || name == "message":
		return true
	case !known:
		return e.kind == kindOther || e.kind == kindPing || e.kind == kindError
	case named == kindError && e.kind == kindOther:
		e.kind = kindError
	}
	return named == e.kind
}

// field reads a field of the event.
func (d *decoder) field(key string, v gjson.Result) bool {
	e := d.event
	switch {
	case key == "type" || (key == "error" && e.kind == kindError):
		return d.Unknown("", v)
	case key == "context_management":
		return d.report(v)
	}
	switch e.kind {
	case kindBlockStart, kindBlockDelta, kindBlockStop:
		return d.blockField(key, v)
	case kindMessageStart:
		if key == "message" {
			return d.message(&e.message, v)
		}
	case kindMessageDelta:
		switch key {
		case "delta":
			return d.messageEnd(&e.message, v)
		case "usage":
			return d.usage(&e.message, v)
		}
	}
	return d.unknownField(key, v)
}

// blockField reads a field of an event about a block.
func (d *decoder) blockField(key string, v gjson.Result) bool {
	e := d.event
	switch {
	case key == "index":
		d.hasIndex = true
		return d.Number(&e.index, v, "the index of a block")
	case key == "content_block" && e.kind == kindBlockStart:
		e.block = &opening{}
		return d.block(e.block, v)
	case key == "delta" && e.kind == kindBlockDelta:
		e.delta = &delta{}
		return d.delta(e.delta, v)
	}
	return d.unknownField(key, v)
}

func (d *decoder) unknownField(key string, v gjson.Result) bool {
	return d.Unknown(key, v, "type", "index", "content_block", "delta", "message", "usage", "error")
}

// checkComplete refuses events that lack a field of their kind, and others that a client
// could take for a call.
func (d *decoder) checkComplete(root gjson.Result) bool {
	e := d.event
	switch e.kind {
	case kindBlockStart, kindBlockDelta, kindBlockStop:
		if !d.hasIndex || (e.kind == kindBlockStart && e.block == nil) || (e.kind == kindBlockDelta && e.delta == nil) {
			return d.Fail("an event of a block lacks its index or its contents")
		}
	case kindMessageStart:
		if !e.message.object {
			return d.Fail("a message starts without a message")
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

// decodeWhole decodes a whole answer as [decode] does an event.
func decodeWhole(payload string) (*message, error) {
	return decodeMessage(payload, !strictjson.NamesCall(payload))
}

// decodeMessage is [decodeWhole]. Quiet is that of [intercept.Reading].
func decodeMessage(payload string, quiet bool) (*message, error) {
	m := &message{}
	root := gjson.Parse(payload)
	d := decoder{event: &event{}}
	d.Quiet = quiet
	if !root.IsObject() {
		d.Unknown("", root)
		return m, d.Err()
	}
	if d.message(m, root); m.failed {
		m.object = false
	}
	return m, d.Err()
}

// message reads a message: a whole answer, or the start of a streamed one.
func (d *decoder) message(m *message, v gjson.Result) bool {
	if !v.IsObject() || d.NamedInput(v) {
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
		case "type":
			m.failed = m.failed || v.Str == "error"
		case "error":
			m.failed = m.failed || v.Type != gjson.Null
		case "role":
		case "usage":
			return d.usage(m, v)
		default:
			return d.messageField(m, key, v)
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

// messageEnd reads the fields of the message in the last event of a stream.
func (d *decoder) messageEnd(m *message, v gjson.Result) bool {
	if !v.IsObject() || strictjson.NamedInput(v) {
		return d.Fail("the end of a message is not an object, or is a call itself")
	}
	v.ForEach(func(k, v gjson.Result) bool { return d.messageField(m, k.Str, v) })
	return d.OK()
}

// messageField reads a field of a message that can be in its last event too.
func (d *decoder) messageField(m *message, key string, v gjson.Result) bool {
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
