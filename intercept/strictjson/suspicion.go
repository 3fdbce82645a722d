package strictjson

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Suspect returns why an unknown part of an answer could be a call: it has a non-empty
// field named for calls, an object with both a tool's name and its input, or a type named
// for calls. It returns "" if there is no such reason. The value must be strict JSON.
func Suspect(key string, v gjson.Result) string {
	if (v.IsObject() || v.IsArray()) && !NamesCall(v.Raw) {
		return suspectKey(key, v)
	}
	return suspect(key, v, 0)
}

// maxDepth bounds the search: each level reads all levels below it again.
const maxDepth = 32

func suspect(key string, v gjson.Result, depth int) string {
	if reason := suspectKey(key, v); reason != "" {
		return reason
	}
	switch {
	case !v.IsArray() && !v.IsObject():
		return ""
	case depth == maxDepth:
		return "it has an unknown field that is nested too deeply"
	case v.IsArray():
		return first(v, func(_, item gjson.Result) string { return suspect("", item, depth+1) })
	}
	return suspectObject(v, depth)
}

func suspectKey(key string, v gjson.Result) string {
	if !strings.Contains(strings.ToLower(key), "call") || empty(v) {
		return ""
	}
	return "it has an unknown field that speaks of a call"
}

func suspectObject(v gjson.Result, depth int) string {
	if NamedInput(v) {
		return "it has an unknown object with a name and an input"
	}
	return first(v, func(k, item gjson.Result) string {
		if strings.EqualFold(k.Str, "type") {
			if t := strings.ToLower(item.String()); strings.Contains(t, "call") || strings.Contains(t, "tool_use") {
				return "it has an object of an unknown type that speaks of a call"
			}
		}
		return suspect(k.Str, item, depth+1)
	})
}

// NamedInput reports whether an object has both a name and an input, as every form of a
// call has.
func NamedInput(v gjson.Result) bool {
	var n Named
	v.ForEach(func(k, item gjson.Result) bool {
		n.Note(k.Str, item)
		return !n.Input()
	})
	return n.Input()
}

// Named is [NamedInput] for an object whose fields are read one by one. The zero value is
// ready for use.
type Named struct{ name, input bool }

// Note takes the next field.
func (n *Named) Note(key string, v gjson.Result) {
	n.name = n.name || (strings.EqualFold(key, "name") && v.Type == gjson.String)
	n.input = n.input || isInput(key)
}

// isInput reports whether a key is a name of the input of a call.
func isInput(key string) bool {
	for _, name := range [...]string{"arguments", "input", "parameters", "action"} {
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// Input reports whether the fields so far have both a name and an input.
func (n *Named) Input() bool { return n.name && n.input }

// empty reports whether a value cannot be a call: a number, a boolean, null, or an empty
// string, array or object.
func empty(v gjson.Result) bool {
	switch {
	case v.Type == gjson.String:
		return v.Str == ""
	case v.IsArray() || v.IsObject():
		return first(v, func(_, _ gjson.Result) string { return "x" }) == ""
	}
	return true
}

// first returns the first result of visit that is not "".
func first(v gjson.Result, visit func(k, item gjson.Result) string) (found string) {
	v.ForEach(func(k, item gjson.Result) bool {
		found = visit(k, item)
		return found == ""
	})
	return found
}

// Misspelt reports whether key is one of known in another letter case. Some decoders read
// such a name as the known one.
func Misspelt(key string, known ...string) bool {
	for _, k := range known {
		if key != k && len(key) >= len(k) && strings.EqualFold(key, k) {
			return true
		}
	}
	return false
}
