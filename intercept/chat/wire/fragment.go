package wire

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Place is where in a choice a field of the message is.
type Place int

// The places.
const (
	InDelta   Place = iota // choices[].delta
	InMessage              // choices[].message: of whole answers, and at some providers beside delta
)

// Kind is the form of a call.
type Kind int

// The kinds.
const (
	KindFunction Kind = iota
	KindCustom        // type "custom": free text input
	KindLegacy        // function_call: no id, one in a choice
)

// Fragment is one entry of tool_calls, or one function_call: a whole call or a part of
// one.
type Fragment struct {
	Place    Place
	Kind     Kind
	Raw      string
	Index    int
	HasIndex bool
	HasID    bool
	ID, Name string
	Args     string   // text to append to the arguments
	Object   bool     // the arguments are a JSON object, not a string
	Own      []string // other fields, as raw name and value
	Inner    []string // the same beside name and arguments
}

// maxFragments is how many calls and parts of calls a choice of an event has at most. A
// decoded one needs many times the memory of its bytes.
const maxFragments = 1024

func (d *decoder) toolCalls(c *ChoiceDelta, at Place, v gjson.Result) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsArray() {
		return d.Fail("tool_calls is not an array")
	}
	v.ForEach(func(_, v gjson.Result) bool {
		if len(c.Calls) == maxFragments {
			return d.Fail("it has too many calls")
		}
		f := Fragment{Place: at, Raw: v.Raw}
		if !v.IsObject() || strictjson.NamedInput(v) {
			return d.Fail("a tool call is not an object, or has its name where none should be")
		}
		if !d.toolCall(&f, v) {
			return false
		}
		c.Calls = append(c.Calls, f)
		return true
	})
	return d.OK()
}

func (d *decoder) toolCall(f *Fragment, v gjson.Result) bool {
	var function, custom Fragment
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; key {
		case "index":
			if f.HasIndex = v.Type != gjson.Null; f.HasIndex {
				return d.Number(&f.Index, v, "the index of a tool call")
			}
		case "id":
			f.HasID = v.Type == gjson.String
			return d.Text(&f.ID, v, "the id of a tool call")
		case "type":
			return d.callType(f, v)
		case "function":
			return d.body(&function, v, "arguments")
		case "custom":
			return d.body(&custom, v, "input")
		default:
			f.Own = addField(f.Own, key, v)
			return d.Unknown(key, v, "index", "id", "type", "function", "custom")
		}
		return true
	})
	if !d.OK() {
		return false
	}
	body := function
	if f.Kind == KindCustom || custom.Name != "" || custom.Args != "" {
		if function.Name != "" || function.Args != "" {
			return d.Fail("a tool call has both a function and a custom part")
		}
		body, f.Kind = custom, KindCustom
	}
	f.Name, f.Args, f.Object, f.Inner = body.Name, body.Args, body.Object, body.Inner
	return true
}

func (d *decoder) callType(f *Fragment, v gjson.Result) bool {
	if v.Type == gjson.String && v.Str == "custom" {
		f.Kind = KindCustom
	}
	if v.Type == gjson.Null || (v.Type == gjson.String && (v.Str == "" || v.Str == "function" || v.Str == "custom")) {
		return true
	}
	return d.Fail("a tool call has an unknown type")
}

// body reads a function or custom object.
func (d *decoder) body(f *Fragment, v gjson.Result, input string) bool {
	if v.Type == gjson.Null {
		return true
	}
	if !v.IsObject() {
		return d.Fail("the body of a tool call is not an object")
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch key := k.Str; {
		case key == "name":
			return d.Text(&f.Name, v, "the name of a tool call")
		case key == input && v.IsObject():
			f.Args, f.Object = v.Raw, true
		case key == input:
			return d.Fragment(&f.Args, v, "the arguments of a tool call")
		default:
			f.Inner = addField(f.Inner, key, v)
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
func (d *decoder) functionCall(c *ChoiceDelta, at Place, v gjson.Result) bool {
	f := Fragment{Place: at, Kind: KindLegacy, Raw: v.Raw}
	if !d.body(&f, v, "arguments") {
		return false
	}
	if f.Name != "" || f.Args != "" || slices.ContainsFunc(f.Inner, func(field string) bool { return !strings.HasSuffix(field, `:""`) }) {
		c.Calls = append(c.Calls, f)
	}
	return true
}
