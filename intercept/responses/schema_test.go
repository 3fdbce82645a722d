package responses

import (
	"maps"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// The schemas of the events with calls that all known clients read alike. What heldcall renders fits
// them: see [plainEvent]. An item needs no id of its own.

var numberSchema = &strictjson.Schema{Types: strictjson.Number}

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
	s := &strictjson.Schema{Types: strictjson.Object, Required: append([]string{"type", "call_id"}, required...), Fields: withFields(more)}
	s.Fields["type"] = &strictjson.Schema{Types: strictjson.String, Values: []string{typ}}
	s.Fields["status"] = &strictjson.Schema{Types: strictjson.String, Values: []string{"in_progress", "completed", "incomplete"}}
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
		required := []string{in.field}
		switch in.of {
		case "shell_call":
			own["command_index"] = numberSchema
			required = append(required, "command_index")
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
