// Package schema writes Go types as JSON Schemas, for the documents that describe
// heldcall's interfaces: OpenAPI of the console, AsyncAPI of NATS.
package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
)

// Object is a part of a document.
type Object = map[string]any

// Set collects the schemas of named types, by their names, for a document's
// components/schemas.
type Set struct{ Named Object }

// New is an empty set.
func New() Set { return Set{Object{}} }

// form is how a value is met.
type form int

const (
	written form = iota // by heldcall: fields without omitempty are required
	read                // by heldcall: nothing is required by its form alone
	strict              // the same, and names that are not known are refused
)

// Written is the schema of a type as heldcall writes it.
func (s Set) Written(t reflect.Type) Object { return s.of(t, written) }

// Read is the schema of a type as heldcall reads it.
func (s Set) Read(t reflect.Type) Object { return s.of(t, read) }

// ReadStrictly is Read for messages that are refused if they have unknown fields.
func (s Set) ReadStrictly(t reflect.Type) Object { return s.of(t, strict) }

// WrittenFields writes out the schema of a struct that heldcall writes, whether the
// type has a name or not.
func (s Set) WrittenFields(t reflect.Type) Object { return s.members(t, written) }

// ReadFields is the same for one that heldcall reads.
func (s Set) ReadFields(t reflect.Type) Object { return s.members(t, read) }

// Name is what a type that heldcall writes is called in a document; "" for one
// without a name of its own.
func Name(t reflect.Type) string { return name(t, written) }

// of is the schema of a type.
func (s Set) of(t reflect.Type, as form) Object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return Object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[approvals.GrantEnd]():
		return Object{"type": "string", "description": "a time of RFC 3339, or never"}
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[jsontext.Value]():
		return Object{"description": "any JSON value"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), as)
	case reflect.Slice:
		return Object{"type": "array", "items": s.of(t.Elem(), as)}
	case reflect.Map:
		return Object{"type": "object", "additionalProperties": s.of(t.Elem(), as)}
	case reflect.Struct:
		return s.ofStruct(t, as)
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.String:
		if known := Values(t); known != nil {
			return Object{"type": "string", "enum": known}
		}
		return Object{"type": "string"}
	case reflect.Float64:
		return Object{"type": "number"}
	}
	return Object{"type": "integer"}
}

// ofStruct refers to the schema of a named type and writes out any other.
func (s Set) ofStruct(t reflect.Type, as form) Object {
	name := name(t, as)
	if name == "" {
		return s.members(t, as)
	}
	if s.Named[name] == nil {
		s.Named[name] = Object{} // for a type that holds itself
		s.Named[name] = s.members(t, as)
	}
	return Object{"$ref": "#/components/schemas/" + name}
}

func name(t reflect.Type, as form) string {
	name := t.Name()
	if name == "" || strings.Contains(name, "[") {
		return ""
	}
	name = strings.ToUpper(name[:1]) + name[1:]
	if as != written && !strings.HasSuffix(name, "Payload") {
		name += "Payload"
	}
	return name
}

// members is the schema of a struct, with the fields of what it embeds.
func (s Set) members(t reflect.Type, as form) Object {
	properties, required := Object{}, []string{}
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		for field := range t.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous && name == "":
				add(field.Type)
				continue
			case name == "" || name == "-":
				continue
			}
			properties[name] = s.of(field.Type, as)
			if as == written && options == "" {
				required = append(required, name)
			}
		}
	}
	add(t)
	schema := Object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	if as == strict {
		schema["additionalProperties"] = false
	}
	return schema
}
