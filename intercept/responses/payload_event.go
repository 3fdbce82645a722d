package responses

import (
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// eventKind is what an event of a stream does.
type eventKind int

// The kinds of events.
const (
	kindOther  eventKind = iota // nothing that calls depend on
	kindBegin                   // a response begins
	kindState                   // it is queued or in progress
	kindEnd                     // it is complete, or incomplete
	kindFailed                  // it has failed, or was cancelled
	kindError                   // an error beside a response
	kindAdded                   // an output item begins
	kindDone                    // an output item is complete
	kindInput                   // a part of a call's input, or all of it
	kindBeside                  // about an item, and no part of a call
)

var eventKinds = map[string]eventKind{
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
	field    string // that contains the text
	path     string // which text of the input it is, "" for all of it
	fragment bool   // the text is added to the text before
}

// inputEvents are the events with a part of an input, by their type.
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

func kindOf(typ string) eventKind {
	if k, ok := eventKinds[typ]; ok {
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
	raw        string // "" unless it shows an item or has the input of a call
	length     int    // of the payload
	typ        string
	kind       eventKind
	number     int64 // its sequence number, -1 where it has none
	index      int   // of the output item, -1 where it has none
	itemID     string
	strange    bool    // its type, or its name, is unknown
	hasContent bool    // it is strange, and not empty
	entry      *entry  // of the item, in kindAdded and kindDone
	response   *object // of the response, nil where it has none

	// Of kindInput:
	input inputEvent
	text  string
	name  string

	slots [3]gjson.Result // sequence_number, delta, obfuscation: the fields that differ from one event to the next; none in an event with a long text
}

// ends reports whether the event ends its response.
func (e *event) ends() bool { return e.kind == kindEnd || e.kind == kindFailed }

// showsItem reports whether the event begins or completes an output item.
func (e *event) showsItem() bool { return e.kind == kindAdded || e.kind == kindDone }

// size is the number of bytes that are remembered of an event of a call.
func (e *event) size() int {
	if e.kind == kindInput && e.input.fragment {
		return len(e.text)
	}
	return e.length
}

// longTexts are the names of values that must be texts and not empty, and are not read further.
// FuzzDecode compares events without long texts with whole ones.
var longTexts = []string{"text", "encrypted_content", "instructions", "description", "refusal", "result"}

// decodeEvent reads a payload of a stream that is strict JSON, abridged by the names in [longTexts],
// and that is in an event with the given names. It refuses what it has no meaning for and
// what could be a call. Without echo it leaves out [object.raw] and [object.tools].
func decodeEvent(payload strictjson.Abridged, names []string, echo bool) (*event, error) {
	e := &event{length: payload.Len(), number: -1, index: -1}
	d := eventDecoder{event: e, echo: echo, Reading: intercept.Reading{Abridged: payload}}
	top := d.Parse()
	if !top.IsObject() {
		d.Unknown("", top)
		return e, d.Err()
	}
	if !d.kind(top.Get("type").Str, names) {
		return e, d.Err()
	}
	if e.showsItem() || e.kind == kindInput {
		e.raw = d.Raw(top)
	}
	top.ForEach(func(k, v gjson.Result) bool { return d.field(k.Str, v) })
	if d.Short() {
		e.slots = [3]gjson.Result{}
	}
	if reason := d.lacking(top); reason != "" {
		d.Fail(reason)
	}
	if e.kind != kindInput && d.named.Input() {
		d.Fail("an event looks like a call of another API")
	}
	if e.kind == kindOther && e.response == nil && namesCall(e.typ) {
		d.Fail("an event of an unknown type has the name of a call")
	}
	return e, d.Err()
}

// lacking is why an event is incomplete, "" if it is not.
func (d *eventDecoder) lacking(top gjson.Result) string {
	e := d.event
	noInput := e.kind == kindInput && e.text == "" && !e.input.fragment
	switch {
	case e.ends() && e.response == nil:
		return "an event that ends a response has none"
	case e.showsItem() && e.entry == nil:
		return "an event of an output item has none"
	case noInput && !top.Get(e.input.field).Exists():
		return "an event with the input of a call has none"
	}
	return ""
}

// kind finds out the kind of the event. Its data determine the kind, but some clients
// read its name instead, which must not contradict the data.
func (d *eventDecoder) kind(typ string, names []string) bool {
	e := d.event
	for _, name := range names {
		if typ == "" && name != "message" {
			typ = name
		}
	}
	e.typ, e.kind, e.input = typ, kindOf(typ), inputEvents[typ]
	e.strange = e.kind == kindOther
	for _, name := range names {
		e.strange = e.strange || (name != "" && name != "message" && kindOf(name) == kindOther)
		if k := kindOf(name); name != typ && k != kindOther && k != kindError {
			return d.Fail("the name of an event contradicts its data")
		}
	}
	return true
}

// namesCall reports whether the unknown type of an event may be one of a call: of this
// API, or of another one that a client may read too.
func namesCall(typ string) bool {
	typ = strings.ToLower(typ)
	return strings.Contains(typ, "call") || strings.Contains(typ, "tool") || strings.HasPrefix(typ, "content_block")
}

type eventDecoder struct {
	intercept.Reading
	event *event
	echo  bool
	named strictjson.Named
}

// eventFields are the names that have a meaning in an event.
var eventFields = []string{"type", "sequence_number", "output_index", "item_id", "item", "response", "delta", "arguments", "input", "diff", "command", "name"}

func (d *eventDecoder) field(key string, v gjson.Result) bool {
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
		if e.showsItem() {
			e.entry = readEntry(&d.Reading, v)
			return d.OK()
		}
	case "response":
		if v.IsObject() {
			raw := ""
			if d.echo {
				raw = d.Raw(v)
			}
			e.response = readObject(&d.Reading, v, raw)
			return d.OK()
		}
	case "delta":
		e.slots[1] = v
	case "obfuscation":
		e.slots[2] = v
	}
	if e.kind == kindInput {
		return d.inputField(key, v)
	}
	return d.unknown(key, v)
}

// inputField reads a field of an event with the input of a call.
func (d *eventDecoder) inputField(key string, v gjson.Result) bool {
	e := d.event
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
	return d.unknown(key, v)
}

// unknown reads a field that the event has no meaning for.
func (d *eventDecoder) unknown(key string, v gjson.Result) bool {
	e := d.event
	e.hasContent = e.hasContent || (e.strange && filled(v))
	return d.Unknown(key, v, eventFields...)
}

func (d *eventDecoder) sequence(v gjson.Result) bool {
	n := 0
	ok := d.Number(&n, v, "a sequence number")
	d.event.number = int64(n)
	return ok
}
