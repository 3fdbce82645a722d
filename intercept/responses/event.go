package responses

import (
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// kind is what an event of a stream does.
type kind int

const (
	kindOther  kind = iota // nothing that calls depend on
	kindBegin              // a response begins
	kindState              // it is queued or in progress
	kindEnd                // it is complete, or incomplete
	kindFailed             // it has failed, or was cancelled
	kindError              // an error beside a response
	kindAdded              // an output item begins
	kindDone               // an output item is complete
	kindInput              // a part of a call's input, or all of it
	kindBeside             // about an item, and no part of a call
)

var kinds = map[string]kind{
	"response.created":           kindBegin,
	"response.queued":            kindState,
	"response.in_progress":       kindState,
	"response.completed":         kindEnd,
	"response.incomplete":        kindEnd,
	"response.failed":            kindFailed,
	"response.cancelled":         kindFailed,
	"error":                      kindError,
	"response.output_item.added": kindAdded,
	"response.output_item.done":  kindDone,
}

// inputEvent is an event that brings the input of a call.
type inputEvent struct {
	of       string // type of the item
	field    string // where the text stands
	path     string // which text of the input it is, "" for all of it
	fragment bool   // the text is added to what came before
}

var inputEvents = map[string]inputEvent{
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
	if _, ok := inputEvents[typ]; ok {
		return kindInput
	}
	for _, beginning := range besides {
		if strings.HasPrefix(typ, beginning) {
			return kindBeside
		}
	}
	return kindOther
}

// event is one payload of a stream, read.
type event struct {
	raw      string
	typ      string
	kind     kind
	number   int64 // its sequence number, -1 where it has none
	index    int   // of the output item, -1 where it has none
	itemID   string
	strange  bool    // its type, or its name, is one that nobody knows yet
	says     bool    // it is strange, and has something in it
	entry    *entry  // of the item, in kindAdded and kindDone
	response *object // of the response, nil where it has none

	// Of kindInput:
	input inputEvent
	text  string
	name  string

	slots [3]gjson.Result // sequence_number, delta, obfuscation: what differs from one event to the next
}

// size is how many bytes are remembered of an event of a call.
func (e *event) size() int {
	if e.kind == kindInput && e.input.fragment {
		return len(e.text)
	}
	return len(e.raw)
}

// decode reads a payload of a stream that is strict JSON, and that stands in an
// event with the given names. It refuses what it has no meaning for and what could
// be a call.
func decode(payload string, names []string) (*event, error) {
	e := &event{raw: payload, number: -1, index: -1}
	d := decoder{event: e}
	top := gjson.Parse(payload)
	if !top.IsObject() {
		d.Unknown("", top)
		return e, d.Err()
	}
	if !d.kind(typeOf(top), names) {
		return e, d.Err()
	}
	top.ForEach(func(k, v gjson.Result) bool { return d.field(k.Str, v) })
	switch {
	case (e.kind == kindEnd || e.kind == kindFailed) && e.response == nil:
		d.Refuse("an event that ends a response has none")
	case (e.kind == kindAdded || e.kind == kindDone) && e.entry == nil:
		d.Refuse("an event of an output item has none")
	case e.kind == kindInput && e.text == "" && !e.input.fragment && !top.Get(e.input.field).Exists():
		d.Refuse("an event with the input of a call has none")
	case e.kind != kindInput && d.named.Input():
		d.Refuse("an event looks like a call of another API")
	case e.kind == kindOther && e.response == nil && speaksOfCalls(e.typ):
		d.Refuse("an event of an unknown type speaks of a call")
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
	e.typ, e.kind, e.input = typ, kindOf(typ), inputEvents[typ]
	e.strange = e.kind == kindOther
	for _, name := range names {
		e.strange = e.strange || name != "" && name != "message" && kindOf(name) == kindOther
		if k := kindOf(name); name != typ && k != kindOther && k != kindError {
			return d.Refuse("an event is named otherwise than its data say")
		}
	}
	return true
}

func typeOf(v gjson.Result) (typ string) {
	v.ForEach(func(k, v gjson.Result) bool {
		if k.Str == "type" {
			typ = v.Str
		}
		return k.Str != "type"
	})
	return typ
}

// speaksOfCalls catches events of types that nobody knows yet: of this API, or of
// another one that a client may read too.
func speaksOfCalls(typ string) bool {
	typ = strings.ToLower(typ)
	return strings.Contains(typ, "call") || strings.Contains(typ, "tool") || strings.HasPrefix(typ, "content_block")
}

type decoder struct {
	intercept.Reading
	event *event
	named intercept.Named
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
		e.slots[0] = v
		return v.Type == gjson.Null || d.sequence(v)
	case "output_index":
		return v.Type == gjson.Null || d.Number(&e.index, v, "the index of an output item")
	case "item_id":
		return d.Text(&e.itemID, v, "the id of an output item")
	case "item":
		if e.kind == kindAdded || e.kind == kindDone {
			e.entry = readEntry(&d.Reading, v)
			return d.OK()
		}
	case "response":
		if v.IsObject() {
			e.response = readObject(&d.Reading, v)
			return d.OK()
		}
	case "delta":
		e.slots[1] = v
	case "obfuscation":
		e.slots[2] = v
	}
	if e.kind == kindInput {
		switch key {
		case e.input.field:
			if e.input.fragment {
				return d.Fragment(&e.text, v, "the input of a call")
			}
			return d.Text(&e.text, v, "the input of a call")
		case "name":
			return d.Text(&e.name, v, "the name of a call")
		case "command_index":
			n := 0
			ok := d.Number(&n, v, "the index of a command")
			e.input.path = "commands." + strconv.Itoa(n)
			return ok
		case "call_id":
			return d.Text(new(string), v, "the id of a call")
		}
	}
	e.says = e.says || e.strange && filled(v)
	return d.Unknown(key, v, eventFields...)
}

func (d *decoder) sequence(v gjson.Result) bool {
	n := 0
	ok := d.Number(&n, v, "a sequence number")
	d.event.number = int64(n)
	return ok
}

// object is a response: of an event that has one, or a whole answer.
type object struct {
	raw          string
	head         head
	status       string
	stored       bool // it says that upstream keeps it
	unstored     bool // it says that upstream does not
	background   bool
	failed       bool // it has an error
	conversation string
	output       []*entry
	listed       bool   // it has a list of output items
	usage        string // raw, "" when absent or null
	tools        string // raw
}

// head is what all events of an answer have in common, as raw JSON.
type head struct{ id, created, previous string }

// objectFields are the names that have a meaning in a response.
var objectFields = []string{"id", "object", "created_at", "status", "error", "output", "tools", "store", "usage", "conversation", "previous_response_id", "background"}

// readObject reads a response. What it echoes of the request is read by nobody as
// a call, unless it is an item that is one.
func readObject(d *intercept.Reading, v gjson.Result) *object {
	o := &object{raw: v.Raw}
	var named intercept.Named
	v.ForEach(func(k, v gjson.Result) bool {
		named.Note(k.Str, v)
		return o.field(d, k.Str, v)
	})
	if named.Input() {
		d.Refuse("a response looks like a call")
	}
	return o
}

func (o *object) field(d *intercept.Reading, key string, v gjson.Result) bool {
	switch key {
	case "output":
		return o.list(d, v)
	case "id":
		o.head.id = v.Raw
	case "created_at":
		o.head.created = v.Raw
	case "previous_response_id":
		o.head.previous = v.Raw
	case "status":
		return d.Text(&o.status, v, "the status of a response")
	case "store":
		o.stored, o.unstored = v.Type == gjson.True, v.Type == gjson.False
	case "background":
		o.background = v.Type == gjson.True
	case "conversation":
		o.conversation = conversationID(v)
	case "usage":
		if v.IsObject() {
			o.usage = v.Raw
		}
	case "error":
		o.failed = v.Type != gjson.Null
	case "tools", "tool_choice", "text", "instructions", "prompt", "metadata", "reasoning":
		if key == "tools" {
			o.tools = v.Raw
		}
		return !callsWithin(v, 0) || d.Refuse("a response echoes a call where none belongs")
	default:
		return d.Unknown(key, v, objectFields...)
	}
	return d.Unknown("", v)
}

func (o *object) list(d *intercept.Reading, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsArray() {
		return d.Refuse("the output of a response is not an array")
	}
	o.listed = true
	v.ForEach(func(_, v gjson.Result) bool {
		if len(o.output) == maxItems {
			return d.Refuse("a response has too many output items")
		}
		o.output = append(o.output, readEntry(d, v))
		return d.OK()
	})
	return d.OK()
}

// pending reports a response whose calls are not made yet, or never will be.
func (o *object) pending() bool {
	switch o.status {
	case "queued", "in_progress", "cancelled", "failed":
		return true
	}
	return o.failed
}

// conversationID reads a conversation: its id, or an object that has it.
func conversationID(v gjson.Result) string {
	if v.IsObject() {
		v = v.Get("id")
	}
	return v.Str
}
