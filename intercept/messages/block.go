package messages

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// role is what the agent does with a block.
type role int

const (
	roleText   role = iota // text, thinking and others: it only reads them
	roleCall               // tool_use: it runs the call
	roleHosted             // a tool that the provider has run already, or its result
)

// opening is a block as it opens, in an event of its own or in the content of a
// message.
type opening struct {
	raw      string
	role     role
	unknown  bool   // heldcall does not know its type
	id, name string // of a call; name also of a tool that the provider runs
	input    string // of a call, raw; "" if absent or null
}

// block reads a block. Its type shows who runs a tool.
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
	case d.NamedInput(v):
		return d.Fail("a block of another type has a name and an input")
	case results[kind]:
		return d.hosted(o, v)
	case kind == "text" || kind == "thinking" || kind == "redacted_thinking":
		return d.text(v)
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

// results are the types of blocks with the result of a tool of the provider. All are
// listed, because the type of a call could look like one of them.
var results = map[string]bool{
	"web_search_tool_result": true, "web_fetch_tool_result": true, "tool_search_tool_result": true, "advisor_tool_result": true, "mcp_tool_result": true,
	"code_execution_tool_result": true, "bash_code_execution_tool_result": true, "text_editor_code_execution_tool_result": true,
}

// shown are the types of blocks that are displayed only, with the fields that are their
// own.
var shown = map[string][]string{
	"container_upload": {"file_id"},
	"fallback":         {"from", "to", "trigger"},
	"image":            {"source"},
	"document":         {"source", "context"},
	"search_result":    {"source", "content"},
}

// inert reports whether a block contains nothing that an agent could run, its own fields
// aside: a future kind of call will have its input in a field with a new name, or in an
// object.
func inert(v gjson.Result, own []string) bool {
	only := true
	v.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "citations":
		case "type", "id", "text", "title", "data", "signature", "status":
			only = v.Type == gjson.String || isEmpty(v)
		default:
			only = isEmpty(v) || slices.Contains(own, k.Str)
		}
		return only
	})
	return only
}

// isEmpty reports whether a value contains nothing.
func isEmpty(v gjson.Result) bool {
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
		case "caller": // the agent runs the call, even if the provider's code issued it
			return d.Unknown("", v)
		default:
			return d.Unknown(key, v, "type", "id", "name", "input")
		}
	})
	return d.OK()
}

// hosted reads a block of a tool that the provider runs. Its input and result are data
// for the model and the reader.
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

func (d *decoder) text(v gjson.Result) bool {
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

// report reads a part of an answer that describes calls and contains none.
func (d *decoder) report(v gjson.Result) bool {
	if holdsCall(v, true, 0) {
		return d.Fail("a report on the context or on tools could hold a call")
	}
	return true
}

// maxDepth bounds the search: each level reads all levels below it again.
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
		found = (strings.Contains(t, "tool_use") && !describesCalls(t)) || holdsCall(item, named, depth+1)
		return !found
	})
	return found
}

// describesCalls reports whether objects of a type describe calls and are none: those
// that were cleared from the context, and the provider's verdicts.
func describesCalls(kind string) bool {
	return strings.HasPrefix(kind, "clear_tool_uses") || kind == "dangerous_tool_use"
}

// delta is the addition of an event to a block.
type delta struct {
	input    bool // to the input of a tool
	plain    bool // every client knows it, and it is no input
	more     bool // its type is unknown, or it has fields that the type has not
	fields   []growth
	values   []growth // that replace a field
	citation string   // raw
}

// growth is a string field of a block that grows by a piece.
type growth struct {
	field string
	piece gjson.Result
}

// deltaFields are the known deltas, with the field in which each has its piece.
var deltaFields = map[string]string{
	"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature",
	"input_json_delta": "partial_json", "citations_delta": "citation",
}

// delta reads a delta.
func (d *decoder) delta(into *delta, v gjson.Result) bool {
	if !v.IsObject() || strictjson.NamedInput(v) {
		return d.Fail("a delta is not an object, or is a call itself")
	}
	t := v.Get("type")
	if t.Type != gjson.String {
		return d.Fail("a delta has no type")
	}
	field, known := deltaFields[t.Str]
	if !known {
		return d.unknownDelta(into, t.Str, v)
	}
	into.input = t.Str == "input_json_delta"
	into.plain = !into.input
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; {
		case key == "type":
			return true
		case key != field:
			into.more = into.more || v.Type == gjson.String || v.IsObject() || v.IsArray()
			return d.Unknown(key, v, "type", field)
		case key == "citation":
			into.citation = v.Raw
			return d.Unknown("", v)
		case v.Type == gjson.String:
			into.fields = append(into.fields, growth{key, v})
			return true
		}
		return v.Type == gjson.Null || d.Fail("a piece of a block is not a string")
	})
	return d.OK()
}

// unknownDelta reads a delta of an unknown type: its strings extend fields of the block,
// its other values replace them.
func (d *decoder) unknownDelta(into *delta, kind string, v gjson.Result) bool {
	into.more = true
	if lower := strings.ToLower(kind); strings.Contains(lower, "call") || strings.Contains(lower, "tool_use") {
		return d.Fail("a delta of an unknown type speaks of a call")
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; {
		case key == "type":
			return true
		case key == "tool_changes":
			d.report(v)
		default:
			d.Unknown(key, v, "type", "text", "partial_json", "tool_changes")
		}
		if len(into.fields)+len(into.values) == maxFields {
			return d.Fail("a delta has too many fields")
		}
		switch {
		case v.Type == gjson.String:
			into.fields = append(into.fields, growth{k.Str, v})
		case v.IsArray() || v.IsObject():
			into.values = append(into.values, growth{k.Str, v})
		}
		return d.OK()
	})
	return d.OK()
}
