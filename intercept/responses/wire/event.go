// Package wire decodes the payloads of the Responses API strictly: events of a stream,
// response objects and output items. What it has no meaning for and what could be a call
// in disguise is refused.
//
// Read event.go (one event, one response object), item.go (one output item, and the
// types of items that are calls) and schema.go (the forms that all clients read alike).
package wire

import (
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// MaxItems is how many output items an answer of upstream has at most.
const MaxItems = 2048

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
	Raw        string
	Type       string
	Kind       kind
	Number     int64 // its sequence number, -1 where it has none
	Index      int   // of the output item, -1 where it has none
	ItemID     string
	strange    bool    // its type, or its name, is one that nobody knows yet
	HasContent bool    // it is strange, and has something in it
	Entry      *Entry  // of the item, in kindAdded and kindDone
	Response   *Object // of the response, nil where it has none

	// Of kindInput:
	Input inputEvent
	Text  string
	Name  string

	Slots [3]gjson.Result // sequence_number, delta, obfuscation: what differs from one event to the next
}

// Size is how many bytes are remembered of an event of a call.
func (e *Event) Size() int {
	if e.Kind == KindInput && e.Input.Fragment {
		return len(e.Text)
	}
	return len(e.Raw)
}

// Decode reads a payload of a stream that is strict JSON, and that is in an
// event with the given names. It refuses what it has no meaning for and what could
// be a call.
func Decode(payload string, names []string) (*Event, error) {
	e := &Event{Raw: payload, Number: -1, Index: -1}
	d := decoder{event: e}
	top := gjson.Parse(payload)
	if !top.IsObject() {
		d.Unknown("", top)
		return e, d.Err()
	}
	if !d.kind(TypeOf(top), names) {
		return e, d.Err()
	}
	top.ForEach(func(k, v gjson.Result) bool { return d.field(k.Str, v) })
	switch {
	case (e.Kind == KindEnd || e.Kind == KindFailed) && e.Response == nil:
		d.Fail("an event that ends a response has none")
	case (e.Kind == KindAdded || e.Kind == KindDone) && e.Entry == nil:
		d.Fail("an event of an output item has none")
	case e.Kind == KindInput && e.Text == "" && !e.Input.Fragment && !top.Get(e.Input.Field).Exists():
		d.Fail("an event with the input of a call has none")
	case e.Kind != KindInput && d.named.Input():
		d.Fail("an event looks like a call of another API")
	case e.Kind == kindOther && e.Response == nil && SpeaksOfCalls(e.Type):
		d.Fail("an event of an unknown type speaks of a call")
	}
	return e, d.Err()
}

// kind finds out what the event does. Its data say so; some readers go by its name,
// so the name must not say something else.
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
			return d.Fail("an event is named otherwise than its data say")
		}
	}
	return true
}

// TypeOf is the type field of an object, "" where there is none.
func TypeOf(v gjson.Result) (typ string) {
	v.ForEach(func(k, v gjson.Result) bool {
		if k.Str == "type" {
			typ = v.Str
		}
		return k.Str != "type"
	})
	return typ
}

// SpeaksOfCalls catches events of types that nobody knows yet: of this API, or of
// another one that a client may read too.
func SpeaksOfCalls(typ string) bool {
	typ = strings.ToLower(typ)
	return strings.Contains(typ, "call") || strings.Contains(typ, "tool") || strings.HasPrefix(typ, "content_block")
}

type decoder struct {
	intercept.Reading
	event *Event
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
		if e.Kind == KindAdded || e.Kind == KindDone {
			e.Entry = ReadEntry(&d.Reading, v)
			return d.OK()
		}
	case "response":
		if v.IsObject() {
			e.Response = ReadObject(&d.Reading, v)
			return d.OK()
		}
	case "delta":
		e.Slots[1] = v
	case "obfuscation":
		e.Slots[2] = v
	}
	if e.Kind == KindInput {
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
	}
	e.HasContent = e.HasContent || (e.strange && filled(v))
	return d.Unknown(key, v, eventFields...)
}

func (d *decoder) sequence(v gjson.Result) bool {
	n := 0
	ok := d.Number(&n, v, "a sequence number")
	d.event.Number = int64(n)
	return ok
}

// Object is a response: of an event that has one, or a whole answer.
type Object struct {
	Raw          string
	Head         Head
	Status       string
	Stored       bool // upstream reports that it keeps it
	Unstored     bool // upstream reports that it does not
	Background   bool
	failed       bool // it has an error
	Conversation string
	Output       []*Entry
	Listed       bool   // it has a list of output items
	Usage        string // raw, "" when absent or null
	Tools        string // raw
}

// Head is what all events of an answer have in common, as raw JSON.
type Head struct{ ID, Created, Previous string }

// objectFields are the names that have a meaning in a response.
var objectFields = []string{"id", "object", "created_at", "status", "error", "output", "tools", "store", "usage", "conversation", "previous_response_id", "background"}

// ReadObject reads a response. What it echoes of the request is read by nobody as
// a call, unless it is an item that is one.
func ReadObject(d *intercept.Reading, v gjson.Result) *Object {
	o := &Object{Raw: v.Raw}
	var named strictjson.Named
	v.ForEach(func(k, v gjson.Result) bool {
		named.Note(k.Str, v)
		return o.field(d, k.Str, v)
	})
	if named.Input() {
		d.Fail("a response looks like a call")
	}
	return o
}

func (o *Object) field(d *intercept.Reading, key string, v gjson.Result) bool {
	switch key {
	case "output":
		return o.list(d, v)
	case "id":
		o.Head.ID = v.Raw
	case "created_at":
		o.Head.Created = v.Raw
	case "previous_response_id":
		o.Head.Previous = v.Raw
	case "status":
		return d.Text(&o.Status, v, "the status of a response")
	case "store":
		o.Stored, o.Unstored = v.Type == gjson.True, v.Type == gjson.False
	case "background":
		o.Background = v.Type == gjson.True
	case "conversation":
		o.Conversation = ConversationID(v)
	case "usage":
		if v.IsObject() {
			o.Usage = v.Raw
		}
	case "error":
		o.failed = v.Type != gjson.Null
	case "tools", "tool_choice", "text", "instructions", "prompt", "metadata", "reasoning":
		if key == "tools" {
			o.Tools = v.Raw
		}
		return !callsWithin(v, 0) || d.Fail("a response echoes a call where none belongs")
	default:
		return d.Unknown(key, v, objectFields...)
	}
	return d.Unknown("", v)
}

func (o *Object) list(d *intercept.Reading, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsArray() {
		return d.Fail("the output of a response is not an array")
	}
	o.Listed = true
	v.ForEach(func(_, v gjson.Result) bool {
		if len(o.Output) == MaxItems {
			return d.Fail("a response has too many output items")
		}
		o.Output = append(o.Output, ReadEntry(d, v))
		return d.OK()
	})
	return d.OK()
}

// Pending reports a response whose calls are not made yet, or never will be.
func (o *Object) Pending() bool {
	switch o.Status {
	case "queued", "in_progress", "cancelled", "failed":
		return true
	}
	return o.failed
}

// ConversationID reads a conversation: its id, or an object that has it.
func ConversationID(v gjson.Result) string {
	if v.IsObject() {
		v = v.Get("id")
	}
	return v.Str
}
