package messages

import (
	"regexp"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

var (
	stringSchema = &strictjson.Schema{Types: strictjson.String}
	maybeString  = &strictjson.Schema{Types: strictjson.String | strictjson.Null}
	maybeOpen    = &strictjson.Schema{Types: strictjson.Object | strictjson.Array | strictjson.Null, Open: true}
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

// serverTool is the type of a caller that is a tool of the provider, of any version.
var serverTool = regexp.MustCompile(`^[a-z_]+_\d{8}$`)

// callExtras returns the fields of a call's block beside id, name and input that are
// released with it, as JSON after a comma.
func (r *request) callExtras(block gjson.Result, name string) string {
	var b strings.Builder
	for _, extra := range extraSchemas {
		v := block.Get(extra.name)
		fits := v.Exists() && extra.schema.Fits(v)
		switch extra.name {
		case "caller":
			fits = fits && knownCaller(v)
		case "toolset_name":
			fits = fits && (v.Type == gjson.Null || r.inToolset(v.Str, name))
		}
		if fits {
			b.WriteString("," + strictjson.Quote(extra.name) + ":" + v.Raw)
		}
	}
	return b.String()
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
