// Package wire decodes the payloads of the Responses API strictly: events of a stream,
// response objects and output items. It refuses what it has no meaning for and what could
// be a call in disguise.
//
// Read event.go (one event), object.go (one response), item.go (one output item, and the
// types of items that are calls), input.go (the input of a call), disguise.go (calls that
// some client could see elsewhere) and schema.go (the forms that all clients read alike).
package wire

import (
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// kind is what an event of a stream does.
type kind int

// The kinds of events.
const (
	kindOther  kind = iota // nothing that calls depend on
	KindBegin              // a response begins
	KindState              // it is queued or in progress
	KindEnd                // it is complete, or incomplete
	KindFailed             // it has failed, or was cancelled
	KindError              // an error beside a response
	KindAdded              // an output item begins
	KindDone               // an output item is complete
	KindInput              // a part of a call's input, or all of it
	KindBeside             // about an item, and no part of a call
)

var kinds = map[string]kind{
	"response.created":           KindBegin,
	"response.queued":            KindState,
	"response.in_progress":       KindState,
	"response.completed":         KindEnd,
	"response.incomplete":        KindEnd,
	"response.failed":            KindFailed,
	"response.cancelled":         KindFailed,
	"error":                      KindError,
	"response.output_item.added": KindAdded,
	"response.output_item.done":  KindDone,
}

// inputEvent is an event that brings the input of a call.
type inputEvent struct {
	Of       string // type of the item
	Field    string // that contains the text
	Path     string // which text of the input it is, "" for all of it
	Fragment bool   // the text is added to the text before
}

// InputEvents are the events with a part of an input, by their type.
var InputEvents = map[string]inputEvent{
	"response.function_call_arguments.delta":         {"function_call", "delta", "", true},
	"response.function_call_arguments.done":          {"function_call", "arguments", "", false},
	"response.custom_tool_call_input.delta":          {"custom_tool_call", "delta", "", true},
	"response.custom_tool_call_input.done":           {"custom_tool_call", "input", "", false},
	"response.apply_patch_call_operation_diff.delta": {"apply_patch_call", "delta", "diff", true},
	"response.apply_patch_call_operation_diff.done":  {"apply_patch_call", "diff", "diff", false},
	"response.shell_call_command.added":              {"shell_call", "command", "commands", true},
	"response.shell_call_command.delta":              {"shell_call", "delta", "commands", true},
	"response.shell_call_command.done":               {"shell_call", "command", "commands", false},
}

// besides are the beginnings of types of events about items that are no calls,
// or calls that the provider runs itself.
var besides = []string{
	"response.output_text.", "response.content_part.", "response.refusal.", "response.reasoning", "response.audio.",
	"response.web_search_call.", "response.file_search_call.", "response.code_interpreter_call", "response.image_generation_call.",
	"response.mcp_call", "response.mcp_list_tools.", "response.shell_call_output_content.", "response.x_search_call.",
}

func kindOf(typ string) kind {
	if k, ok := kinds[typ]; ok {
		return k
	}
	if _, ok := InputEvents[typ]; ok {
		return KindInput
	}
	for _, beginning := range besides {
		if strings.HasPrefix(typ, beginning) {
			return KindBeside
		}
	}
	return kindOther
}

// Event is one payload of a stream, read.
type Event struct {
	Raw        string // "" unless it shows an item or has the input of a call
	Length     int    // of the payload
	Type       string
	Kind       kind
	Number     int64 // its sequence number, -1 where it has none
	Index      int   // of the output item, -1 where it has none
	ItemID     string
	strange    bool    // its type, or its name, is unknown
	HasContent bool    // it is strange, and not empty
	Entry      *Entry  // of the item, in KindAdded and KindDone
	Response   *Object // of the response, nil where it has none

	// Of KindInput:
	Input inputEvent
	Text  string
	Name  string

	Slots [3]gjson.Result // sequence_number, delta, obfuscation: the fields that differ from one event to the next; none in an event with a long text
}

// Ends reports whether the event ends its response.
func (e *Event) Ends() bool { return e.Kind == KindEnd || e.Kind == KindFailed }

// showsItem reports whether the event begins or completes an output item.
func (e *Event) showsItem() bool { return e.Kind == KindAdded || e.Kind == KindDone }

// Size is the number of bytes that are remembered of an event of a call.
func (e *Event) Size() int {
	if e.Kind == KindInput && e.Input.Fragment {
		return len(e.Text)
	}
	return e.Length
}

// Texts are the names of values that must be texts and not empty, and are not read further.
// FuzzDecode compares events without long texts with whole ones.
var Texts = []string{"text", "encrypted_content", "instructions", "description", "refusal", "result"}

// Decode reads a payload of a stream that is strict JSON, abridged by the names in [Texts],
// and that is in an event with the given names. It refuses what it has no meaning for and
// what could be a call. Without echo it leaves out [Object.Raw] and [Object.Tools].
func Decode(payload strictjson.Abridged, names []string, echo bool) (*Event, error) {
	e := &Event{Length: payload.Len(), Number: -1, Index: -1}
	d := decoder{event: e, echo: echo, Reading: intercept.Reading{Abridged: payload}}
	top := d.Parse()
	if !top.IsObject() {
		d.Unknown("", top)
		return e, d.Err()
	}
	if !d.kind(top.Get("type").Str, names) {
		return e, d.Err()
	}
	if e.showsItem() || e.Kind == KindInput {
		e.Raw = d.Raw(top)
	}
	top.ForEach(func(k, v gjson.Result) bool { return d.field(k.Str, v) })
	if d.Short() {
		e.Slots = [3]gjson.Result{}
	}
	if reason := d.lacking(top); reason != "" {
		d.Fail(reason)
	}
	if e.Kind != KindInput && d.named.Input() {
		d.Fail("an event looks like a call of another API")
	}
	if e.Kind == kindOther && e.Response == nil && NamesCall(e.Type) {
		d.Fail("an event of an unknown type has the name of a call")
	}
	return e, d.Err()
}

// lacking is why an event is incomplete, "" if it is not.
func (d *decoder) lacking(top gjson.Result) string {
	e := d.event
	noInput := e.Kind == KindInput && e.Text == "" && !e.Input.Fragment
	switch {
	case e.Ends() && e.Response == nil:
		return "an event that ends a response has none"
	case e.showsItem() && e.Entry == nil:
		return "an event of an output item has none"
	case noInput && !top.Get(e.Input.Field).Exists():
		return "an event with the input of a call has none"
	}
	return ""
}

// kind finds out the kind of the event. Its data determine the kind, but some clients
// read its name instead, which must not contradict the data.
func (d *decoder) kind(typ string, names []string) bool {
	e := d.event
	for _, name := range names {
		if typ == "" && name != "message" {
			typ = name
		}
	}
	e.Type, e.Kind, e.Input = typ, kindOf(typ), InputEvents[typ]
	e.strange = e.Kind == kindOther
	for _, name := range names {
		e.strange = e.strange || (name != "" && name != "message" && kindOf(name) == kindOther)
		if k := kindOf(name); name != typ && k != kindOther && k != KindError {
			return d.Fail("the name of an event contradicts its data")
		}
	}
	return true
}

// NamesCall reports whether the unknown type of an event may be one of a call: of this
// API, or of another one that a client may read too.
func NamesCall(typ string) bool {
	typ = strings.ToLower(typ)
	return strings.Contains(typ, "call") || strings.Contains(typ, "tool") || strings.HasPrefix(typ, "content_block")
}

type decoder struct {
	intercept.Reading
	event *Event
	echo  bool
	named strictjson.Named
}

// eventFields are the names that have a meaning in an event.
var eventFields = []string{"type", "sequence_number", "output_index", "item_id", "item", "response", "delta", "arguments", "input", "diff", "command", "name"}

func (d *decoder) field(key string, v gjson.Result) bool {
	e := d.event
	d.named.Note(key, v)
	switch key {
	case "type":
		var typ string
		return d.Text(&typ, v, "the type of an event")
	case "sequence_number":
		e.Slots[0] = v
		return v.Type == gjson.Null || d.sequence(v)
	case "output_index":
		return v.Type == gjson.Null || d.Number(&e.Index, v, "the index of an output item")
	case "item_id":
		return d.Text(&e.ItemID, v, "the id of an output item")
	case "item":
		if e.showsItem() {
			e.Entry = ReadEntry(&d.Reading, v)
			return d.OK()
		}
	case "response":
		if v.IsObject() {
			raw := ""
			if d.echo {
				raw = d.Raw(v)
			}
			e.Response = ReadObject(&d.Reading, v, raw)
			return d.OK()
		}
	case "delta":
		e.Slots[1] = v
	case "obfuscation":
		e.Slots[2] = v
	}
	if e.Kind == KindInput {
		return d.inputField(key, v)
	}
	return d.unknown(key, v)
}

// inputField reads a field of an event with the input of a call.
func (d *decoder) inputField(key string, v gjson.Result) bool {
	e := d.event
	switch key {
	case e.Input.Field:
		if e.Input.Fragment {
			return d.Fragment(&e.Text, v, "the input of a call")
		}
		return d.Text(&e.Text, v, "the input of a call")
	case "name":
		return d.Text(&e.Name, v, "the name of a call")
	case "command_index":
		n := 0
		ok := d.Number(&n, v, "the index of a command")
		e.Input.Path = "commands." + strconv.Itoa(n)
		return ok
	case "call_id":
		return d.Text(new(string), v, "the id of a call")
	}
	return d.unknown(key, v)
}

// unknown reads a field that the event has no meaning for.
func (d *decoder) unknown(key string, v gjson.Result) bool {
	e := d.event
	e.HasContent = e.HasContent || (e.strange && filled(v))
	return d.Unknown(key, v, eventFields...)
}

func (d *decoder) sequence(v gjson.Result) bool {
	n := 0
	ok := d.Number(&n, v, "a sequence number")
	d.event.Number = int64(n)
	return ok
}
