package toolschema

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxCheck  = 2_000_000 // size of a schema, times the size of the arguments
	textBlock = 64        // bytes of text that count as one value
	pairCost  = 16        // of uniqueItems and multipleOf
)

// checkable reports whether arguments can be checked in bounded time.
//
// The validator applies a schema to a value at most once for each path of references and
// keywords to the schema. So the work is bounded by the size of the arguments times the size
// of the schema, with its references expanded as deep as the arguments are nested.
func checkable(s *jsonschema.Schema, arguments any) bool {
	size, depth := measure(arguments)
	return size <= maxCheck && (expandedSizes{}).size(s, depth) <= maxCheck/size
}

// measure returns the number of values in a value, and the depth of their nesting.
func measure(value any) (size, depth int) {
	size = 1
	add := func(part any) {
		n, d := measure(part)
		size, depth = size+n, max(depth, d+1)
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			size += len(name) / textBlock
			add(name)
			add(member)
		}
	case []any:
		for _, item := range value {
			add(item)
		}
	case string:
		size += len(value) / textBlock
	}
	return size, depth
}

// expandedSizes has the sizes of schemas with expanded references, by schema and by the
// remaining depth of the values.
type expandedSizes map[schemaAt]int

type schemaAt struct {
	schema *jsonschema.Schema
	depth  int
}

// size returns the size of a schema for values of a depth. It is above maxCheck if the schema
// refers to itself for the same value.
func (w expandedSizes) size(s *jsonschema.Schema, depth int) int {
	if s == nil || depth < 0 {
		return 0
	}
	at := schemaAt{s, depth}
	if size, ok := w[at]; ok {
		return size
	}
	w[at] = maxCheck + 1 // found again below: the schema refers to itself
	size := ownSize(s)
	for _, one := range sameValue(s) {
		size = min(size+w.size(one, depth), maxCheck+1)
	}
	for _, one := range partsOfValue(s) {
		size = min(size+w.size(one, depth-1), maxCheck+1)
	}
	w[at] = size
	return size
}

// ownSize returns the size of a schema without other schemas.
func ownSize(s *jsonschema.Schema) int {
	size := 1 + len(s.Required) + sizeOf(s.Pattern)
	if s.Const != nil {
		values, _ := measure(*s.Const)
		size += values
	}
	if s.Enum != nil {
		values, _ := measure(s.Enum.Values)
		size += values
	}
	if s.UniqueItems || s.MultipleOf != nil {
		size += pairCost
	}
	for _, required := range s.DependentRequired {
		size += len(required)
	}
	for _, dependency := range s.Dependencies {
		if required, ok := dependency.([]string); ok {
			size += len(required)
		}
	}
	for pattern := range s.PatternProperties {
		size += sizeOf(pattern)
	}
	return size
}

// sizeOf returns the size of a compiled pattern.
func sizeOf(pattern jsonschema.Regexp) int {
	if sized, ok := pattern.(*sizedPattern); ok {
		return sized.size
	}
	return 0
}

// sameValue returns the schemas that a schema applies to its own value.
func sameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	schemas := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	schemas = slices.AppendSeq(schemas, maps.Values(s.DependentSchemas))
	for _, dependency := range s.Dependencies {
		schemas = append(schemas, schemasIn(dependency)...)
	}
	return schemas
}

// partsOfValue returns the schemas that a schema applies to members, names and items.
func partsOfValue(s *jsonschema.Schema) []*jsonschema.Schema {
	schemas := slices.Concat([]*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems},
		s.PrefixItems, schemasIn(s.AdditionalProperties), schemasIn(s.Items), schemasIn(s.AdditionalItems))
	schemas = slices.AppendSeq(schemas, maps.Values(s.Properties))
	return slices.AppendSeq(schemas, maps.Values(s.PatternProperties))
}

// schemasIn returns the schemas in the value of a keyword that has several forms.
func schemasIn(keyword any) []*jsonschema.Schema {
	switch keyword := keyword.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{keyword}
	case []*jsonschema.Schema:
		return keyword
	}
	return nil
}
