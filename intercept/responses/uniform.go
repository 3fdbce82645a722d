package responses

import (
	"maps"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
)

// A call is uniform if every event that has a part of it is one that all known
// clients read alike: these fields, these types, the one right event line, and the
// identity with which the call began. A uniform call is released as upstream sent it,
// any other in canonical form.

var (
	textSchema   = &intercept.Schema{Types: intercept.String}
	numberSchema = &intercept.Schema{Types: intercept.Number}
	maybeText    = &intercept.Schema{Types: intercept.String | intercept.Null}
	maybeBool    = &intercept.Schema{Types: intercept.Bool | intercept.Null}
	openObject   = &intercept.Schema{Types: intercept.Object, Open: true}
	maybeObject  = &intercept.Schema{Types: intercept.Object | intercept.Null, Open: true}
	openArray    = &intercept.Schema{Types: intercept.Array, Open: true}
	openInput    = &intercept.Schema{Types: intercept.Object | intercept.Array, Open: true}
)

// callerSchema is what makes a call: the model itself, or a program that it wrote.
var callerSchema = &intercept.Schema{
	Types:    intercept.Null | intercept.Object,
	Fields:   map[string]*intercept.Schema{"type": textSchema, "caller_id": textSchema},
	Required: []string{"type"},
}

type fields = map[string]*intercept.Schema

// itemSchemas are the output items that are calls, by type. The input of a call is
// what its reviewer sees; where it is no text any object fits.
var itemSchemas = map[string]*intercept.Schema{
	"function_call":    itemSchema("function_call", fields{"name": textSchema, "namespace": maybeText, "arguments": textSchema, "async": maybeBool}, "name", "arguments"),
	"custom_tool_call": itemSchema("custom_tool_call", fields{"name": textSchema, "namespace": maybeText, "input": textSchema, "async": maybeBool}, "name", "input"),
	"local_shell_call": itemSchema("local_shell_call", fields{"action": openObject}, "action", "status"),
	"shell_call":       itemSchema("shell_call", fields{"action": openObject, "environment": maybeObject}, "action", "status"),
	"apply_patch_call": itemSchema("apply_patch_call", fields{"operation": openObject}, "operation", "status"),
	"computer_call":    itemSchema("computer_call", fields{"action": openObject, "actions": openArray, safetyChecks: openArray}, "status"),
	"tool_search_call": itemSchema("tool_search_call", fields{"arguments": openObject, "execution": textSchema}, "arguments", "execution", "status"),
}

func itemSchema(typ string, more fields, required ...string) *intercept.Schema {
	s := &intercept.Schema{Types: intercept.Object, Required: append([]string{"type", "id", "call_id"}, required...), Fields: fields{
		"type": {Types: intercept.String, Values: []string{typ}}, "id": textSchema, "call_id": textSchema,
		"status": {Types: intercept.String, Values: []string{"in_progress", "completed", "incomplete"}},
		"caller": callerSchema, "created_by": maybeText,
		"extra_content": openObject, "thought_signature": textSchema, "signature": maybeText,
	}}
	maps.Copy(s.Fields, more)
	return s
}

// itemEventSchemas are the events with which an item begins and ends, by its type.
var itemEventSchemas = func() map[string]*intercept.Schema {
	all := make(map[string]*intercept.Schema)
	for typ, item := range itemSchemas {
		all[typ] = eventSchema([]string{"response.output_item.added", "response.output_item.done"}, fields{"item": item}, "item")
	}
	return all
}()

// inputEventSchemas are the events with a part of an input, by their type. Those of a
// shell name no item: its number is enough.
var inputEventSchemas = func() map[string]*intercept.Schema {
	all := make(map[string]*intercept.Schema)
	for typ, in := range inputEvents {
		own := fields{in.field: textSchema, "item_id": textSchema, "obfuscation": textSchema}
		required := []string{in.field, "item_id"}
		switch in.of {
		case "shell_call":
			own["command_index"] = numberSchema
			required[1] = "command_index"
		case "function_call":
			own["name"] = textSchema
		}
		all[typ] = eventSchema([]string{typ}, own, required...)
	}
	return all
}()

func eventSchema(types []string, more fields, required ...string) *intercept.Schema {
	s := &intercept.Schema{Types: intercept.Object, Required: append([]string{"type", "output_index"}, required...), Fields: fields{
		"type": {Types: intercept.String, Values: types}, "sequence_number": numberSchema, "output_index": numberSchema,
	}}
	maps.Copy(s.Fields, more)
	return s
}

// manner is how the events of one upstream body are written, as its first one shows.
type manner struct {
	known    bool
	named    bool  // with an event line
	numbered bool  // with a sequence number
	last     int64 // the highest sequence number so far
}

// note takes the manner of the first event.
func (m *manner) note(e *event, part []byte) {
	if !m.known {
		*m = manner{known: true, named: sse.Parse(part).Name != nil, numbered: e.number >= 0, last: -1}
	}
}

// fits reports whether an event, alone in a part of the stream, is written as the
// first one was. Clients may skip an event that is not. How lines end and whether
// blanks stand before them is the same in all of a body: see [intercept.Body.Payloads].
func (m *manner) fits(e *event, part []byte) bool {
	event := sse.Parse(part)
	if len(event.Data) != 1 || len(event.Stray) > 0 || (event.Name != nil) != m.named || (m.named && string(event.Name) != e.typ) {
		return false
	}
	return (e.number >= 0) == m.numbered && (!m.numbered || e.number > m.last)
}

// uniform reports whether an event of a call is one that all clients read alike.
func (p *eventBatch) uniform(it *item, e *event) bool {
	if !p.manner.fits(e, p.part.Bytes) || e.index != it.index {
		return false
	}
	switch top := gjson.Parse(e.raw); e.kind {
	case kindAdded:
		return it.call.form.fits(top) && it.entry.identified() && it.index == len(p.answer.items)-1
	case kindDone:
		return it.call.form.fits(top) && it.call.began != nil && it.agrees(it.call.began) && it.streamed() &&
			(it.entry.status == "completed" || it.entry.status == "incomplete")
	case kindInput:
		return inputEventSchemas[e.typ].Fits(top) && (e.itemID == "" || e.itemID == it.entry.id) &&
			(e.input.fragment || it.call.piece(e.input.path).fragments.String() == e.text)
	}
	return false
}

// fits reports whether all clients read the item alike with which a call begins or
// ends.
func (f *form) fits(event gjson.Result) bool {
	s := itemEventSchemas[f.typ]
	return s != nil && s.Fits(event)
}

// uniform reports whether all clients read the item of a call alike that stands in a
// list of items.
func (e *entry) uniform() bool {
	s := itemSchemas[e.typ]
	return s != nil && e.identified() && s.Fits(gjson.Parse(e.raw))
}

// identified reports whether a call has all by which clients know it.
func (e *entry) identified() bool {
	f := forms[e.typ]
	return f != nil && e.id != "" && e.callID != "" && (f.tool != "" || e.name != "")
}

// agrees reports whether an entry shows the same call as the item.
func (it *item) agrees(e *entry) bool {
	own := it.entry
	return own.typ == e.typ && own.id == e.id && own.callID == e.callID && own.name == e.name && own.namespace == e.namespace &&
		own.caller == e.caller && own.execution == e.execution && own.place == e.place
}

// sameInput reports whether an entry shows a call with the same input as the item.
func (it *item) sameInput(e *entry) bool {
	own, _ := it.entry.input(it.call.form)
	other, _ := e.input(it.call.form)
	return own == other
}

// inputText is one of the texts of an input that the API streams in events.
type inputText struct{ path, text string }

// texts are those of an input.
func (f *form) texts(input string) (list []inputText) {
	switch f.typ {
	case "function_call", "custom_tool_call":
		list = append(list, inputText{"", input})
	case "apply_patch_call":
		if diff := gjson.Get(input, "diff"); diff.Exists() {
			list = append(list, inputText{"diff", diff.String()})
		}
	case "shell_call":
		for i, command := range gjson.Get(input, "commands").Array() {
			list = append(list, inputText{"commands." + strconv.Itoa(i), command.String()})
		}
	}
	return list
}

// streamed reports whether the fragments of an input make up all of it. A client that
// adds them up runs something else where they do not, or where the input stood in the
// beginning of the call already.
func (it *item) streamed() bool {
	c := it.call
	began, _ := c.began.input(c.form)
	for _, t := range c.form.texts(began) {
		if t.text != "" {
			return false
		}
	}
	for _, t := range c.form.texts(it.input()) {
		p := c.find(t.path)
		if t.text != "" && (p == nil || p.fragments.String() != t.text) {
			return false
		}
	}
	return true
}

func (c *call) find(path string) *piece {
	for _, p := range c.pieces {
		if p.path == path {
			return p
		}
	}
	return nil
}

// unlike notes that clients may read a call in different ways. It cannot be taken back
// where the beginning of the call has reached the agent.
func (it *item) unlike() error {
	if it.call == nil || it.call.form.typ == approvalRequest {
		return nil
	}
	return it.Differ()
}

// A call of a tool that is allowed by its name passes unbuffered as long as it is
// plain. Its beginning waits for the first event after it, which shows whether the
// input comes in fragments at all: clients that add them up run a call without any
// with an empty input.

// plain reports whether an event of a call may pass unbuffered: the beginning of the
// next item, or what follows of the last one.
func (p *eventBatch) plain(it *item, e *event) bool {
	c := it.call
	if !p.verbatim() || it.Odd || len(it.Doubts) > 0 || c.form.typ != "function_call" || p.items[len(p.items)-1] != it {
		return false
	}
	switch {
	case e.kind == kindAdded:
		text, _ := it.entry.input(c.form)
		return text == ""
	case !it.Passing():
		return false
	case e.kind == kindInput && !e.input.fragment:
		return c.piece("").fragments.String() == e.text && (e.text == "" || intercept.Strict([]byte(e.text)) == nil)
	}
	return e.kind == kindInput || e.kind == kindDone
}
