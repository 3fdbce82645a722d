package responses

import (
	"maps"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

var (
	textSchema   = &strictjson.Schema{Types: strictjson.String}
	numberSchema = &strictjson.Schema{Types: strictjson.Number}
	maybeText    = &strictjson.Schema{Types: strictjson.String | strictjson.Null}
	maybeBool    = &strictjson.Schema{Types: strictjson.Bool | strictjson.Null}
	openObject   = &strictjson.Schema{Types: strictjson.Object, Open: true}
	maybeObject  = &strictjson.Schema{Types: strictjson.Object | strictjson.Null, Open: true}
	openArray    = &strictjson.Schema{Types: strictjson.Array, Open: true}
	// openInput is any input that is no text.
	openInput = &strictjson.Schema{Types: strictjson.Object | strictjson.Array, Open: true}
)

// callerSchema is what makes a call: the model itself, or a program that it wrote.
var callerSchema = &strictjson.Schema{
	Types:    strictjson.Null | strictjson.Object,
	Fields:   map[string]*strictjson.Schema{"type": textSchema, "caller_id": textSchema},
	Required: []string{"type"},
}

type fields = map[string]*strictjson.Schema

// itemSchemas are the output items that are calls, by type. The input of a call is
// what its reviewer sees; where it is no text any object fits.
var itemSchemas = map[string]*strictjson.Schema{
	"function_call":    itemSchema("function_call", fields{"name": textSchema, "namespace": maybeText, "arguments": textSchema, "async": maybeBool}, "name", "arguments"),
	"custom_tool_call": itemSchema("custom_tool_call", fields{"name": textSchema, "namespace": maybeText, "input": textSchema, "async": maybeBool}, "name", "input"),
	"local_shell_call": itemSchema("local_shell_call", fields{"action": openObject}, "action", "status"),
	"shell_call":       itemSchema("shell_call", fields{"action": openObject, "environment": maybeObject}, "action", "status"),
	"apply_patch_call": itemSchema("apply_patch_call", fields{"operation": openObject}, "operation", "status"),
	"computer_call":    itemSchema("computer_call", fields{"action": openObject, "actions": openArray, safetyChecks: openArray}, "status"),
	"tool_search_call": itemSchema("tool_search_call", fields{"arguments": openObject, "execution": textSchema}, "arguments", "execution", "status"),
}

func itemSchema(typ string, more fields, required ...string) *strictjson.Schema {
	s := &strictjson.Schema{Types: strictjson.Object, Required: append([]string{"type", "id", "call_id"}, required...), Fields: fields{
		"type": {Types: strictjson.String, Values: []string{typ}}, "id": textSchema, "call_id": textSchema,
		"status": {Types: strictjson.String, Values: []string{"in_progress", "completed", "incomplete"}},
		"caller": callerSchema, "created_by": maybeText,
		"extra_content": openObject, "thought_signature": textSchema, "signature": maybeText,
	}}
	maps.Copy(s.Fields, more)
	return s
}

// itemEventSchemas are the events with which an item begins and ends, by its type.
var itemEventSchemas = func() map[string]*strictjson.Schema {
	all := make(map[string]*strictjson.Schema)
	for typ, item := range itemSchemas {
		all[typ] = eventSchema([]string{"response.output_item.added", "response.output_item.done"}, fields{"item": item}, "item")
	}
	return all
}()

// inputEventSchemas are the events with a part of an input, by their type. Those of a
// shell name no item: its number is enough.
var inputEventSchemas = func() map[string]*strictjson.Schema {
	all := make(map[string]*strictjson.Schema)
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

func eventSchema(types []string, more fields, required ...string) *strictjson.Schema {
	s := &strictjson.Schema{Types: strictjson.Object, Required: append([]string{"type", "output_index"}, required...), Fields: fields{
		"type": {Types: strictjson.String, Values: types}, "sequence_number": numberSchema, "output_index": numberSchema,
	}}
	maps.Copy(s.Fields, more)
	return s
}

// fits reports whether all clients read the item alike with which a call begins or
// ends.
func (f *callForm) fits(event gjson.Result) bool {
	s := itemEventSchemas[f.typ]
	return s != nil && s.Fits(event)
}

// uniform reports whether all clients read the item of a call alike that is in a
// list of items.
func (e *entry) uniform() bool {
	s := itemSchemas[e.typ]
	return s != nil && e.identified() && s.Fits(gjson.Parse(e.raw))
}

// identified reports whether a call has all by which clients know it.
func (e *entry) identified() bool {
	f := callForms[e.typ]
	return f != nil && e.id != "" && e.callID != "" && (f.tool != "" || e.name != "")
}
