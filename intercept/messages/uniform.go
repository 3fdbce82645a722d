package messages

import (
	"regexp"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// A call is uniform if every event that carries a part of it is one that all known
// clients read alike: it fits the schema of its kind, its name is its type, and it
// has no other lines. Any field that is not in these schemas makes the call one
// that is rendered in canonical form: @anthropic-ai/sdk takes __json_buf for the
// beginning of the input, and the AI SDK skips events that do not fit its own
// schemas and runs what is left of the call.
var (
	stringSchema = &strictjson.Schema{Types: strictjson.String}
	numberSchema = &strictjson.Schema{Types: strictjson.Number}
	maybeString  = &strictjson.Schema{Types: strictjson.String | strictjson.Null}
	openObject   = &strictjson.Schema{Types: strictjson.Object, Open: true}
	maybeOpen    = &strictjson.Schema{Types: strictjson.Object | strictjson.Array | strictjson.Null, Open: true}
	noFields     = &strictjson.Schema{Types: strictjson.Object}
)

// extraSchemas are the fields of a call beside id, name and input that providers
// send and clients send back: who issued the call, the toolset that its tool
// belongs to, and the signatures of servers that translate another API.
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
	// streamedCall is the block of a call in content_block_start. Its input is
	// empty: LangChain for Node takes the input from the deltas only.
	streamedCall = callSchema(noFields)
	// wholeCall is the block of a call in the content of a message.
	wholeCall = callSchema(openObject)

	openingSchema = eventSchema("content_block_start", "content_block", streamedCall)
	inputSchema   = eventSchema("content_block_delta", "delta", fixed("input_json_delta", map[string]*strictjson.Schema{"partial_json": stringSchema}))
	closingSchema = eventSchema("content_block_stop", "", nil)

	// startSchema is message_start with blocks in its message. The calls among
	// them are checked one by one.
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

// extras returns the fields of a call's block beside id, name and input that go
// with it in canonical form, as JSON after a comma. It reports whether all of them
// that are there go with it.
func (a *answer) extras(block gjson.Result, name string) (kept string, all bool) {
	var b strings.Builder
	all = true
	for _, extra := range extraSchemas {
		v := block.Get(extra.name)
		if !v.Exists() {
			continue
		}
		if !extra.schema.Fits(v) || (extra.name == "caller" && !knownCaller(v)) || (extra.name == "toolset_name" && !a.inToolset(v, name)) {
			all = false
			continue
		}
		b.WriteString("," + strictjson.Quote(extra.name) + ":" + v.Raw)
	}
	return b.String(), all
}

// knownCaller reports whether clients know who issued a call: the model, or a tool
// of the provider.
func knownCaller(caller gjson.Result) bool {
	kind := caller.Get("type").Str
	return kind == "direct" || (serverTool.MatchString(kind) && caller.Get("tool_id").Exists())
}

// inToolset reports whether the request offers the toolset that a call of a tool
// names, and no tool of the agent's own has the tool's name. The AI SDK runs the
// toolset instead of the tool, other clients run the tool.
func (a *answer) inToolset(toolset gjson.Result, tool string) bool {
	if toolset.Type == gjson.Null {
		return true
	}
	if _, own := a.req.Tool(tool); own || toolset.Str == "" {
		return false
	}
	for _, t := range a.req.offered() {
		if strings.HasPrefix(t.Get("type").Str, toolset.Str+"_toolset_") {
			return true
		}
	}
	return false
}

// plain reports whether all readers of the stream see the event as the same one:
// its only lines are its name, if the events before it have theirs, and one line of
// data.
func (p *eventBatch) plain(e *event) bool {
	s := sse.Parse(p.part.Bytes)
	return len(s.Data) == 1 && s.Indented == 0 && len(s.Stray) == 0 && (e.named || (s.Name == nil && !p.named))
}

// fits reports whether an event about a call is uniform.
func (p *eventBatch) fits(e *event, schema *strictjson.Schema) bool {
	return p.plain(e) && schema.Fits(gjson.Parse(e.raw))
}

// opensUniform reports whether an event opens a call, in a block of its own or in
// the content of a message, in a form that all clients read alike.
func (p *eventBatch) opensUniform(e *event, o *opening) bool {
	if p.misnumber {
		return false
	}
	if e.kind == kindBlockStart {
		return p.fits(e, openingSchema)
	}
	return p.fits(e, startSchema) && wholeCall.Fits(gjson.Parse(o.raw)) && gjson.Get(e.raw, "message.usage.input_tokens").Type == gjson.Number
}

// Canonical implements [intercept.Codec]. Of a call whose beginning has passed
// nothing else can be released than what upstream sent.
func (a *answer) Canonical(u *intercept.Unit) bool {
	return !u.Begun() && (u.Odd || !blockOf(u).ended || a.mixed())
}
