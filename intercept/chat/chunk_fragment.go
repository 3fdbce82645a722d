package chat

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// messagePlace is where in a choice a field of the message is.
type messagePlace int

// The places.
const (
	inDelta   messagePlace = iota // choices[].delta
	inMessage                     // choices[].message: of whole answers, and at some providers beside delta
)

// callKind is the form of a call.
type callKind int

// The kinds.
const (
	kindFunction callKind = iota
	kindCustom            // type "custom": free text input
	kindLegacy            // function_call: no id, one in a choice
)

// fragment is one entry of tool_calls, or one function_call: a whole call or a part of
// one.
type fragment struct {
	place    messagePlace
	kind     callKind
	raw      string
	index    int
	hasIndex bool
	hasID    bool
	id, name string
	args     string   // text to append to the arguments
	object   bool     // the arguments are a JSON object, not a string
	own      []string // other fields, as raw name and value
	inner    []string // the same beside name and arguments
}

// maxFragments is how many calls and parts of calls a choice of an event has at most. A
// decoded one needs many times the memory of its bytes.
const maxFragments = 1024

func (d *decoder) toolCalls(c *choiceDelta, at messagePlace, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsArray() {
		return d.Fail("tool_calls is not an array")
	}
	v.ForEach(func(_, v gjson.Result) bool {
		if len(c.calls) == maxFragments {
			return d.Fail("it has too many calls")
		}
		f := fragment{place: at, raw: v.Raw}
		if !v.IsObject() || strictjson.NamedInput(v) {
			return d.Fail("a tool call is not an object, or has its name where none should be")
		}
		if !d.toolCall(&f, v) {
			return false
		}
		c.calls = append(c.calls, f)
		return true
	})
	return d.OK()
}

func (d *decoder) toolCall(f *fragment, v gjson.Result) bool {
	var function, custom fragment
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "index":
			if f.hasIndex = v.Type != gjson.Null; f.hasIndex {
				return d.Number(&f.index, v, "the index of a tool call")
			}
		case "id":
			f.hasID = v.Type == gjson.String
			return d.Text(&f.id, v, "the id of a tool call")
		case "type":
			return d.callType(f, v)
		case "function":
			return d.body(&function, v, "arguments")
		case "custom":
			return d.body(&custom, v, "input")
		default:
			f.own = addField(f.own, key, v)
			return d.Unknown(key, v, "index", "id", "type", "function", "custom")
		}
		return true
	})
	if !d.OK() {
		return false
	}
	body := function
	if f.kind == kindCustom || custom.name != "" || custom.args != "" {
		if function.name != "" || function.args != "" {
			return d.Fail("a tool call has both a function and a custom part")
		}
		body, f.kind = custom, kindCustom
	}
	f.name, f.args, f.object, f.inner = body.name, body.args, body.object, body.inner
	return true
}

func (d *decoder) callType(f *fragment, v gjson.Result) bool {
	if v.Type == gjson.String && v.Str == "custom" {
		f.kind = kindCustom
	}
	if v.Type == gjson.Null || (v.Type == gjson.String && (v.Str == "" || v.Str == "function" || v.Str == "custom")) {
		return true
	}
	return d.Fail("a tool call has an unknown type")
}

// body reads a function or custom object.
func (d *decoder) body(f *fragment, v gjson.Result, input string) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsObject() {
		return d.Fail("the body of a tool call is not an object")
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; {
		case key == "name":
			return d.Text(&f.name, v, "the name of a tool call")
		case key == input && v.IsObject():
			f.args, f.object = v.Raw, true
		case key == input:
			return d.Fragment(&f.args, v, "the arguments of a tool call")
		default:
			f.inner = addField(f.inner, key, v)
			return d.Unknown(key, v, "name", input)
		}
		return true
	})
	return d.OK()
}

// addField appends a field of no known meaning.
func addField(list []string, key string, v gjson.Result) []string {
	if v.Type == gjson.Null {
		return list
	}
	return append(list, strictjson.Quote(key)+":"+v.Raw)
}

// functionCall reads the legacy form. Some providers send an empty one beside tool_calls,
// which is not a call. One with any other field is held like a call.
func (d *decoder) functionCall(c *choiceDelta, at messagePlace, v gjson.Result) bool {
	f := fragment{place: at, kind: kindLegacy, raw: v.Raw}
	if !d.body(&f, v, "arguments") {
		return false
	}
	if f.name != "" || f.args != "" || slices.ContainsFunc(f.inner, func(field string) bool { return !strings.HasSuffix(field, `:""`) }) {
		c.calls = append(c.calls, f)
	}
	return true
}
