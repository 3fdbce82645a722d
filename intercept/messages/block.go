package messages

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// role is what a block is for the agent.
type role int

const (
	roleSaid   role = iota // text, thinking and what else is only read
	roleCall               // tool_use: the agent runs it
	roleHosted             // a tool that the provider has run already, or its result
)

// opening is a block as it opens, in an event of its own or in the content of a
// message.
type opening struct {
	raw      string
	role     role
	unknown  bool   // of a type that nobody knows yet
	id, name string // of a call; name also of one that the provider runs
	input    string // of a call, raw; "" when absent or null
}

// block reads a block. The provider says in its type who runs a tool.
func (d *decoder) block(o *opening, v gjson.Result) bool {
	if !v.IsObject() {
		return d.Fail("a block is not an object")
	}
	o.raw = v.Raw
	t := v.Get("type")
	switch kind := t.Str; {
	case kind == "tool_use":
		return d.call(o, v)
	case kind == "server_tool_use" || kind == "mcp_tool_use":
		o.name = v.Get("name").String()
		return d.hosted(o, v)
	case strictjson.NamedInput(v):
		return d.Fail("a block of another type has a name and an input")
	case results[kind]:
		return d.hosted(o, v)
	case kind == "text" || thinking[kind]:
		return d.said(v)
	case kind == "mcp_tool_listing" || kind == "compaction":
		return d.listing(v)
	case t.Type != gjson.String:
		return d.Fail("a block has no type")
	case !inert(v, shown[kind]):
		return d.Fail("a block of a type that heldcall does not know has more in it than text")
	case shown[kind] == nil:
		o.unknown = true
	}
	return d.Unknown("", v)
}

// results are the types of blocks with what a tool of the provider's returned. All
// types are listed, because a call could be named as if it were one of them.
var results = map[string]bool{
	"web_search_tool_result": true, "web_fetch_tool_result": true, "tool_search_tool_result": true, "advisor_tool_result": true, "mcp_tool_result": true,
	"code_execution_tool_result": true, "bash_code_execution_tool_result": true, "text_editor_code_execution_tool_result": true,
}

// thinking are the types of blocks in which the model thinks.
var thinking = map[string]bool{"thinking": true, "redacted_thinking": true}

// shown are the types of blocks that are there for the reader, with the fields that
// are their own.
var shown = map[string][]string{
	"container_upload": {"file_id"},
	"fallback":         {"from", "to", "trigger"},
	"image":            {"source"},
	"document":         {"source", "context"},
	"search_result":    {"source", "content"},
}

// inert reports whether a block has nothing in it that an agent could run, but for
// the fields that are its own: the next kind of call will have its input in a field
// with a name of its own, or in an object.
func inert(v gjson.Result, own []string) bool {
	only := true
	v.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "citations":
		case "type", "id", "text", "title", "data", "signature", "status":
			only = v.Type == gjson.String || hollow(v)
		default:
			only = hollow(v) || slices.Contains(own, k.Str)
		}
		return only
	})
	return only
}

// hollow reports whether there is nothing in a value.
func hollow(v gjson.Result) bool {
	return v.Type == gjson.Null || v.Type == gjson.False || v.Raw == `""` || v.Raw == "{}" || v.Raw == "[]"
}

func (d *decoder) call(o *opening, v gjson.Result) bool {
	o.role = roleCall
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "type":
			return true
		case "id":
			return d.Text(&o.id, v, "the id of a tool call")
		case "name":
			return d.Text(&o.name, v, "the name of a tool call")
		case "input":
			if v.Type != gjson.Null {
				o.input = v.Raw
			}
			return true
		case "caller": // the provider's code issued it; the agent runs it all the same
			return d.Unknown("", v)
		default:
			return d.Unknown(key, v, "type", "id", "name", "input")
		}
	})
	return d.OK()
}

// hosted reads a block of a tool that the provider runs. What is in its input
// and result is data for the model and for the reader.
func (d *decoder) hosted(o *opening, v gjson.Result) bool {
	o.role = roleHosted
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "input", "content":
			if holdsCall(v, false, 0) {
				return d.Fail("the data of a tool that the provider ran could hold a call")
			}
			return true
		case "type", "id", "name", "tool_use_id", "server_name", "caller":
			return d.Unknown("", v)
		default:
			return d.Unknown(key, v, "type", "id", "name", "input", "content", "tool_use_id")
		}
	})
	return d.OK()
}

func (d *decoder) said(v gjson.Result) bool {
	v.ForEach(func(k, v gjson.Result) bool {
		return d.Unknown(k.Str, v, "type", "text", "id", "name", "input")
	})
	return d.OK()
}

// listing reads a block that lists tools, by the fields that hold their
// definitions.
func (d *decoder) listing(v gjson.Result) bool {
	v.ForEach(func(k, v gjson.Result) bool {
		if k.Str == "tools" || k.Str == "tool_changes" {
			return d.report(v)
		}
		return d.Unknown(k.Str, v, "type", "tools", "tool_changes", "name", "input")
	})
	return d.OK()
}

// report takes a part of an answer that tells of calls and holds none.
func (d *decoder) report(v gjson.Result) bool {
	if holdsCall(v, true, 0) {
		return d.Fail("a report on the context or on tools could hold a call")
	}
	return true
}

// maxDepth bounds the search: each level reads all that is below it again.
const maxDepth = 32

// holdsCall reports whether an object in v has the type of a call or, with named,
// a name and an input.
func holdsCall(v gjson.Result, named bool, depth int) (found bool) {
	if !v.IsArray() && !v.IsObject() {
		return false
	}
	if depth == maxDepth || (named && strictjson.NamedInput(v)) {
		return true
	}
	v.ForEach(func(k, item gjson.Result) bool {
		t := ""
		if strings.EqualFold(k.Str, "type") {
			t = strings.ToLower(item.String())
		}
		found = (strings.Contains(t, "tool_use") && !tellsOfCalls(t)) || holdsCall(item, named, depth+1)
		return !found
	})
	return found
}

// tellsOfCalls reports the types of objects that tell of calls and are none: what
// was cleared from the context, and what the provider thinks of a call.
func tellsOfCalls(kind string) bool {
	return strings.HasPrefix(kind, "clear_tool_uses") || kind == "dangerous_tool_use"
}

// delta is what an event adds to a block.
type delta struct {
	input    bool // to the input of a tool
	plain    bool // it is one that every client knows, and no input
	more     bool // it is none of those, or has more in it than they have
	fields   []growth
	values   []growth // what replaces a field
	citation string   // raw
}

// growth is a string field of a block that grows by a piece.
type growth struct {
	field string
	piece gjson.Result
}

// deltaFields are the known deltas, with the field that each has and that grows.
var deltaFields = map[string]string{
	"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature",
	"input_json_delta": "partial_json", "citations_delta": "citation",
}

func (d *decoder) delta(into *delta, v gjson.Result) bool {
	if !v.IsObject() || strictjson.NamedInput(v) {
		return d.Fail("a delta is not an object, or is a call itself")
	}
	t := v.Get("type")
	if t.Type != gjson.String {
		return d.Fail("a delta has no type")
	}
	field, known := deltaFields[t.Str]
	into.input = t.Str == "input_json_delta"
	into.plain = known && !into.input
	into.more = !known
	if lower := strings.ToLower(t.Str); !known && (strings.Contains(lower, "call") || strings.Contains(lower, "tool_use")) {
		return d.Fail("a delta of an unknown type speaks of a call")
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; {
		case key == "type":
			return true
		case known && key == field && key == "citation":
			into.citation = v.Raw
			return d.Unknown("", v)
		case known && key != field:
			into.more = into.more || v.Type == gjson.String || v.IsObject() || v.IsArray()
			return d.Unknown(key, v, "type", field)
		case known && v.Type != gjson.String && v.Type != gjson.Null:
			return d.Fail("a piece of a block is not a string")
		case (key == "tool_changes" && !d.report(v)) || (key != "tool_changes" && !d.Unknown(key, v, "type", "text", "partial_json", "tool_changes")):
			return false
		case v.Type == gjson.String:
			into.fields = append(into.fields, growth{key, v})
		case v.IsArray() || v.IsObject():
			into.values = append(into.values, growth{key, v})
		}
		return true
	})
	return d.OK()
}
