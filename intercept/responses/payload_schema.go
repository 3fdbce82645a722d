package responses

import (
	"maps"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

var (
	textSchema  = &strictjson.Schema{Types: strictjson.String}
	maybeText   = &strictjson.Schema{Types: strictjson.String | strictjson.Null}
	maybeBool   = &strictjson.Schema{Types: strictjson.Bool | strictjson.Null}
	openObject  = &strictjson.Schema{Types: strictjson.Object, Open: true}
	maybeObject = &strictjson.Schema{Types: strictjson.Object | strictjson.Null, Open: true}
	openArray   = &strictjson.Schema{Types: strictjson.Array, Open: true}
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

// itemFields are the fields with which the agent gets a call, by its type: clients and providers know
// them. The input of a call is what its reviewer sees; where it is no text any object fits.
var itemFields = map[string]fields{
	"function_call":    withFields(fields{"name": textSchema, "namespace": maybeText, "arguments": textSchema, "async": maybeBool}),
	"custom_tool_call": withFields(fields{"name": textSchema, "namespace": maybeText, "input": textSchema, "async": maybeBool}),
	"local_shell_call": withFields(fields{"action": openObject}),
	"shell_call":       withFields(fields{"action": openObject, "environment": maybeObject}),
	"apply_patch_call": withFields(fields{"operation": openObject}),
	"computer_call":    withFields(fields{"action": openObject, "actions": openArray, safetyChecks: openArray}),
	"tool_search_call": withFields(fields{"arguments": openObject, "execution": textSchema}),
}

// withFields adds the fields that every call may have: who made it, and what the provider wants back with it.
func withFields(own fields) fields {
	maps.Copy(own, fields{
		"type": textSchema, "id": textSchema, "call_id": textSchema, "status": textSchema,
		"caller": callerSchema, "agent": maybeObject, "created_by": maybeText,
		"extra_content": openObject, "thought_signature": textSchema, "signature": maybeText,
		"metadata": maybeObject, "internal_chat_message_metadata_passthrough": maybeObject,
	})
	return own
}
