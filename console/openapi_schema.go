package console

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
)

// object is a part of the OpenAPI document.
type object = map[string]any

// schemas collects the JSON Schemas of the API's types, by the types' names.
type schemas struct{ named object }

// values are all that a type of texts can be.
var values = map[reflect.Type][]string{
	reflect.TypeFor[approvals.Status]():       {"pending", "approved", "denied", "answered", "expired", "cancelled"},
	reflect.TypeFor[approvals.Kind]():         {"permission", "clarification", "decision", "env_var", "combined"},
	reflect.TypeFor[approvals.SignalAction](): {"pause_run", "resume_run", "abort_run"},
	reflect.TypeFor[approvals.RunState]():     {"running", "paused", "aborted"},
	reflect.TypeFor[reviewers.Role]():         {"viewer", "reviewer", "admin"},
}

// of is the schema of a type as the console writes it or, of a body, reads it:
// nothing in a body is required by its form alone.
func (s schemas) of(t reflect.Type, body bool) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[jsontext.Value]():
		return object{"description": "any JSON value"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), body)
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem(), body)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), body)}
	case reflect.Struct:
		return s.ofStruct(t, body)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		if known := values[t]; known != nil {
			return object{"type": "string", "enum": known}
		}
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "integer"}
}

// ofStruct refers to the schema of a named type and writes out any other.
func (s schemas) ofStruct(t reflect.Type, body bool) object {
	name := schemaName(t, body)
	if name == "" {
		return s.members(t, body)
	}
	if s.named[name] == nil {
		s.named[name] = object{} // for a type that holds itself
		s.named[name] = s.members(t, body)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// schemaName is what a type is called in the document; "" for one without a name
// of its own.
func schemaName(t reflect.Type, body bool) string {
	name := t.Name()
	if name == "" || strings.Contains(name, "[") {
		return ""
	}
	name = strings.ToUpper(name[:1]) + name[1:]
	if body && !strings.HasSuffix(name, "Payload") {
		name += "Payload"
	}
	return name
}

// members is the schema of a struct, with the fields of what it embeds.
func (s schemas) members(t reflect.Type, body bool) object {
	properties, required := object{}, []string{}
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
			properties[name] = s.of(field.Type, body)
			if !body && options == "" {
				required = append(required, name)
			}
		}
	}
	add(t)
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// messages is the schema of what goes over a WebSocket in one direction: one of
// several messages, told apart by their type. Each has a name of its own.
func (s schemas) messages(all []socketMessage, body bool) object {
	choices, mapping := []object{}, object{}
	for _, m := range all {
		schema := s.members(m.is, body)
		schema["properties"].(object)["type"] = object{"const": m.name}
		schema["required"] = []string{"type"}
		if !body {
			schema["required"] = []string{"type", "data"}
		}
		name := messageName(m.name)
		s.named[name] = schema
		reference := "#/components/schemas/" + name
		choices = append(choices, object{"$ref": reference})
		mapping[string(m.name)] = reference
	}
	return object{"oneOf": choices, "discriminator": object{"propertyName": "type", "mapping": mapping}}
}

// messageName is what a message is called in the document: AgentStatusMessage.
func messageName(of live.Type) string {
	var name strings.Builder
	for word := range strings.SplitSeq(string(of), "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Message"
}
