package messages

import (
	"regexp"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// A call is uniform if all known clients read each of its events alike: the event fits
// the schema of its kind, its name is its type, and it has no other lines. A call with a
// field that is not in these schemas is rendered in canonical form: @anthropic-ai/sdk
// takes __json_buf for the beginning of the input, and the AI SDK skips events that do
// not fit its own schemas and runs the rest of the call.
var (
	stringSchema = &strictjson.Schema{Types: strictjson.String}
	numberSchema = &strictjson.Schema{Types: strictjson.Number}
	maybeString  = &strictjson.Schema{Types: strictjson.String | strictjson.Null}
	openObject   = &strictjson.Schema{Types: strictjson.Object, Open: true}
	maybeOpen    = &strictjson.Schema{Types: strictjson.Object | strictjson.Array | strictjson.Null, Open: true}
	noFields     = &strictjson.Schema{Types: strictjson.Object}
)

// extraSchemas are the fields of a call beside id, name and input that providers send
// and clients send back: the issuer of the call, the toolset of its tool, and the
// signatures of servers that translate another API.
var extraSchemas = []struct {
	name   string
	schema *strictjson.Schema
}{
	{"caller", &strictjson.Schema{Types: strictjson.Object, Required: []string{"type"}, Fields: map[string]*strictjson.Schema{"type": stringSchema, "tool_id": stringSchema}}},
	{"toolset_name", maybeString},
	{"signature", maybeString},
	{"thought_signature", maybeString},
	{"thoughtSignature", maybeString},
	{"extra_content", maybeOpen},
	{"provider_specific_fields", maybeOpen},
}

var (
	// streamedCall is the block of a call in content_block_start. Its input is empty:
	// LangChain for Node takes the input from the deltas only.
	streamedCall = callSchema(noFields)
	// wholeCall is the block of a call in the content of a message.
	wholeCall = callSchema(openObject)

	openingSchema = eventSchema("content_block_start", "content_block", streamedCall)
	inputSchema   = eventSchema("content_block_delta", "delta", fixed("input_json_delta", map[string]*strictjson.Schema{"partial_json": stringSchema}))
	closingSchema = eventSchema("content_block_stop", "", nil)

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

// serverTool is the type of a caller that is a tool of the provider, of any version.
var serverTool = regexp.MustCompile(`^[a-z_]+_\d{8}$`)

// callExtras returns the fields of a call's block beside id, name and input that are
// released with it in canonical form, as JSON after a comma. Complete is false if others of
// them are left out.
func (r *request) callExtras(block gjson.Result, name string) (kept string, complete bool) {
	var b strings.Builder
	complete = true
	for _, extra := range extraSchemas {
		v := block.Get(extra.name)
		if !v.Exists() {
			continue
		}
		fits := extra.schema.Fits(v)
		switch extra.name {
		case "caller":
			fits = fits && knownCaller(v)
		case "toolset_name":
			fits = fits && (v.Type == gjson.Null || r.inToolset(v.Str, name))
		}
		if complete = complete && fits; fits {
			b.WriteString("," + strictjson.Quote(extra.name) + ":" + v.Raw)
		}
	}
	return b.String(), complete
}

// knownCaller reports whether clients know who issued a call: the model, or a tool of
// the provider.
func knownCaller(caller gjson.Result) bool {
	kind := caller.Get("type").Str
	return kind == "direct" || (serverTool.MatchString(kind) && caller.Get("tool_id").Exists())
}

// style is how the events of the message are written. Some clients skip those without a
// name or a type. A block whose start they skip is not in their message, and they number
// the blocks after it differently.
type style struct {
	named    bool // some events have a name that is their type
	unnamed  bool // some have not
	labelled bool // some have any name
	skipped  bool // clients do not agree on how many blocks the message has
}

// add takes an event.
func (s *style) add(e *event) {
	if e.kind < kindMessageStart || e.kind > kindMessageStop {
		return
	}
	if e.kind == kindBlockStart && e.block.role != roleCall {
		untyped, mixesNames, mixesLabels := !e.typed, !e.named && s.named, e.unnamed && s.labelled
		s.skipped = s.skipped || untyped || mixesNames || mixesLabels
	}
	s.named, s.unnamed = s.named || e.named, s.unnamed || !e.named
	s.labelled = s.labelled || !e.unnamed
}

// mixed reports whether some events have a name and others have none. SDKs skip these.
func (s *style) mixed() bool { return s.named && s.unnamed }

// fits reports whether all clients read an event about a call alike: it has the form of
// a schema, and its only lines are one line of data and its name, if the events before
// it have theirs.
func (b *body) fits(e *event, schema *strictjson.Schema) bool {
	s := &b.part.Lines
	plain := len(s.Data) == 1 && s.Indented == 0 && len(s.Stray) == 0
	named := e.named || (s.Name == nil && !b.style.named)
	return plain && named && schema.Fits(gjson.Parse(e.raw))
}

// opensUniform reports whether an event opens a call, in a block of its own or in the
// content of a message, in a form that all clients read alike.
func (b *body) opensUniform(e *event, o *opening) bool {
	if b.blocks.misnumbered {
		return false
	}
	if e.kind == kindBlockStart {
		return b.fits(e, openingSchema)
	}
	return b.fits(e, startSchema) && wholeCall.Fits(gjson.Parse(o.raw)) && gjson.Get(e.raw, "message.usage.input_tokens").Type == gjson.Number
}
