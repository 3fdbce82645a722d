package messages

import "github.com/heldcall/heldcall/intercept/strictjson"

// The schemas of the events with calls that all known clients read alike. What heldcall renders fits
// them: see [checkClients].

var (
	numberSchema = &strictjson.Schema{Types: strictjson.Number}
	openObject   = &strictjson.Schema{Types: strictjson.Object, Open: true}
	noFields     = &strictjson.Schema{Types: strictjson.Object}
)

var (
	// streamedCall is the block of a call in content_block_start. Its input is empty:
	// LangChain for Node takes the input from the deltas only.
	streamedCall = callSchema(noFields)

	openingSchema = eventSchema("content_block_start", "content_block", streamedCall)
	inputSchema   = eventSchema("content_block_delta", "delta", fixed("input_json_delta", map[string]*strictjson.Schema{"partial_json": stringSchema}))

	// startSchema is message_start with blocks in its message. The calls among them are
	// checked one by one.
	startSchema = fixed("message_start", map[string]*strictjson.Schema{"message": startedMessage})

	startedMessage = &strictjson.Schema{
		Types:    strictjson.Object,
		Required: []string{"type", "role", "content", "usage"},
		Fields: map[string]*strictjson.Schema{
			"type":    {Types: strictjson.String, Values: []string{"message"}},
			"role":    {Types: strictjson.String, Values: []string{"assistant"}},
			"content": {Types: strictjson.Array, Items: openObject},
			"usage":   openObject,
			"id":      maybeString, "model": maybeString, "stop_reason": maybeString, "stop_sequence": maybeString, "stop_details": maybeOpen,
			"container": maybeOpen, "context_management": maybeOpen, "input_transformations": maybeOpen, "safeguard_results": maybeOpen, "diagnostics": maybeOpen,
		},
	}
)

// fixed is the schema of an object of a type that must have all of the fields.
func fixed(kind string, fields map[string]*strictjson.Schema) *strictjson.Schema {
	s := &strictjson.Schema{Types: strictjson.Object, Fields: fields}
	for name := range fields {
		s.Required = append(s.Required, name)
	}
	fields["type"] = &strictjson.Schema{Types: strictjson.String, Values: []string{kind}}
	s.Required = append(s.Required, "type")
	return s
}

// eventSchema is the schema of an event about a block, with one more field.
func eventSchema(kind, field string, schema *strictjson.Schema) *strictjson.Schema {
	fields := map[string]*strictjson.Schema{"index": numberSchema}
	if schema != nil {
		fields[field] = schema
	}
	return fixed(kind, fields)
}

func callSchema(input *strictjson.Schema) *strictjson.Schema {
	s := fixed("tool_use", map[string]*strictjson.Schema{"id": stringSchema, "name": stringSchema, "input": input})
	for _, extra := range extraSchemas {
		s.Fields[extra.name] = extra.schema
	}
	return s
}
