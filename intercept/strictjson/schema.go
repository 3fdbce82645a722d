package strictjson

import (
	"math"
	"slices"

	"github.com/tidwall/gjson"
)

// Types is a set of JSON types.
type Types uint8

// The JSON types.
const (
	Null Types = 1 << iota
	Bool
	Number
	String
	Array
	Object
)

// Schema describes the JSON values that every known client of a dialect reads alike: a
// fixed set of fields, each with the types that all clients accept. A call is rendered from
// the fields of it that fit.
type Schema struct {
	Types Types
	// Values are the strings that fit, nil for any.
	Values []string
	// Fields are the fields that an object may have. An object with any other
	// field does not fit, unless it is open.
	Fields map[string]*Schema
	// Required are the fields that an object must have.
	Required []string
	// Items is the schema of the items of an array, nil for none.
	Items *Schema
	// Open lets an object have any fields and an array any items, except names
	// that JavaScript clients could copy into an object's prototype.
	Open bool
}

// Fits reports whether v, which is strict JSON, conforms to the schema.
func (s *Schema) Fits(v gjson.Result) bool {
	t := typeOf(v)
	switch {
	case s.Types&t == 0:
		return false
	case t == String:
		return (s.Values == nil || slices.Contains(s.Values, v.Str)) && !HasHalf(v)
	case t == Number:
		return !math.IsInf(v.Num, 0) // JavaScript reads a number beyond a double as no number
	case t != Array && t != Object:
		return true
	case s.Open && namesPrototype(v, 0):
		return false
	case t == Array:
		return s.Open || s.fitsItems(v)
	}
	return s.fitsFields(v)
}

func (s *Schema) fitsItems(v gjson.Result) bool {
	fits := true
	v.ForEach(func(_, item gjson.Result) bool {
		fits = s.Items != nil && s.Items.Fits(item)
		return fits
	})
	return fits
}

func (s *Schema) fitsFields(v gjson.Result) bool {
	fits, required := true, 0
	v.ForEach(func(k, field gjson.Result) bool {
		if schema := s.Fields[k.Str]; schema != nil {
			fits = schema.Fits(field)
		} else {
			fits = s.Open
		}
		if slices.Contains(s.Required, k.Str) {
			required++
		}
		return fits
	})
	return fits && required == len(s.Required)
}

func typeOf(v gjson.Result) Types {
	switch v.Type {
	case gjson.Null:
		return Null
	case gjson.False, gjson.True:
		return Bool
	case gjson.Number:
		return Number
	case gjson.String:
		return String
	}
	if v.IsArray() {
		return Array
	}
	return Object
}

// namesPrototype reports whether a value has, at any depth, a field whose name changes an
// object's prototype if a client copies fields, or a name for a client's own state (it
// begins with two underscores). A value that nests too deep counts as one.
func namesPrototype(v gjson.Result, depth int) (found bool) {
	if !v.IsObject() && !v.IsArray() {
		return false
	}
	if depth == maxDepth {
		return true
	}
	v.ForEach(func(k, item gjson.Result) bool {
		found = reservedName(k.Str) || namesPrototype(item, depth+1)
		return !found
	})
	return found
}

func reservedName(name string) bool {
	return name == "constructor" || name == "prototype" || (len(name) >= 2 && name[:2] == "__")
}
