package responses

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// inputWords are in the names of fields that may have an input.
var inputWords = []string{"argument", "input", "param", "action", "operation", "command", "code", "script", "patch", "content"}

// noteInput notes a field that could be the input of a call, and is not the one that its
// form has. An item of an unknown type is a call if it has more than the model's text.
func (e *entry) noteInput(key string, v gjson.Result) {
	if !filled(v) || passive[e.typ] {
		return
	}
	f := callForms[e.typ]
	switch {
	case f == nil:
		e.inputs = e.inputs || !isText(key, v)
	case key != f.field && (f.fixed || itemFields[f.typ][key] == nil) && containsAny(strings.ToLower(key), inputWords):
		e.beside = append(e.beside, key)
	}
}

// isText reports whether a field of an item that is not empty has the model's text and
// nothing that an agent could run: a text, or a list of pieces of it.
func isText(key string, v gjson.Result) (only bool) {
	switch key {
	case "type", "id", "status", "role", "text", "encrypted_content", "signature", "phase", "created_by":
		return v.Type == gjson.String
	case "content", "summary":
		only = v.Type == gjson.String || v.IsArray()
	}
	if v.IsArray() {
		v.ForEach(func(_, part gjson.Result) bool {
			only = only && isTextPart(part)
			return only
		})
	}
	return only
}

// isTextPart is [isText] for an element of a list.
func isTextPart(part gjson.Result) bool {
	if !part.IsObject() {
		return part.Type == gjson.String || !filled(part)
	}
	only := true
	part.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "annotations", "logprobs":
		case "type", "text", "refusal":
			only = v.Type == gjson.String || !filled(v)
		default:
			only = !filled(v)
		}
		return only
	})
	return only
}

// filled reports whether a value is not empty.
func filled(v gjson.Result) bool {
	return (v.Type == gjson.String && v.Str != "") || ((v.IsArray() || v.IsObject()) && strings.Trim(v.Raw, "[]{} \t\r\n") != "")
}

// containsAny reports whether one of some words is in a name.
func containsAny(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// callsWithin reports whether a value that is no call contains one, at any depth: an item
// of a known type, or one that has the id of a call and an input.
func callsWithin(v gjson.Result, depth int) (found bool) {
	if (!v.IsArray() && !v.IsObject()) || (depth == 0 && !strictjson.NamesCall(v.Raw)) {
		return false
	}
	if depth > maxDepth {
		return true
	}
	var id, input bool
	v.ForEach(func(k, item gjson.Result) bool {
		id = id || strings.EqualFold(k.Str, "call_id")
		input = input || slices.ContainsFunc(inputFields, func(name string) bool { return strings.EqualFold(k.Str, name) })
		found = callsWithin(item, depth+1) ||
			(strings.EqualFold(k.Str, "type") && depth > 0 && callForms[strings.ToLower(item.Str)] != nil)
		return !found
	})
	return found || (depth > 0 && id && input)
}

// mayHaveItem reports whether JSON has the name of the id of a call or the type of one, or
// what could be either: without one, [callsWithin] finds nothing. FuzzMayHaveItem compares
// the two.
func mayHaveItem(json string) bool {
	typed := false
	for text, name := range strictjson.Strings(json) {
		switch {
		case name && (strings.EqualFold(text, "call_id") || strings.IndexByte(text, '\\') >= 0):
			return true
		case typed && !name && (callForms[strings.ToLower(text)] != nil || strings.IndexByte(text, '\\') >= 0):
			return true
		}
		typed = name && strings.EqualFold(text, "type")
	}
	return false
}

// inputFields are the names that inputs of calls have.
var inputFields = []string{"arguments", "input", "action", "operation"}

// maxDepth bounds the search for calls: each level reads all below it again.
const maxDepth = 64
