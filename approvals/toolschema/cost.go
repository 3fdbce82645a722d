package toolschema

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxCheckSteps = 100_000 // of checking one call's arguments
	maxCheckPairs = 20_000  // schemas with a value that they are about
	stepText      = 256     // bytes of text looked at in a step
)

// checkCost counts what a schema costs the validator, which looks at a schema
// again on every way that leads to it: references to each other double it.
// Each schema is counted once for a value here.
type checkCost struct {
	costs map[costPair]int
	spent int  // by the pairs themselves: no more than the validator does
	over  bool // too much, or a circle
}

type costPair struct {
	schema *jsonschema.Schema
	value  *costNode
}

// costNode is a value that can be told from another that is equal.
type costNode struct {
	value any
	parts map[costPart]*costNode
}

// costPart is a member of an object by its name, the name itself, or an item of an array.
type costPart struct {
	name   string
	isName bool
	item   int
}

// tooCostly reports whether arguments cannot be checked in bounded time.
func tooCostly(s *jsonschema.Schema, arguments any) bool {
	c := &checkCost{costs: map[costPair]int{}}
	total := c.count(s, &costNode{value: arguments})
	return c.over || total > maxCheckSteps
}

const onStack = -1 // the cost of a pair that is being counted

// count is the number of steps that a schema takes with a value.
func (c *checkCost) count(s *jsonschema.Schema, n *costNode) int {
	if s == nil || c.over {
		return 0
	}
	pair := costPair{s, n}
	if cost, ok := c.costs[pair]; ok {
		c.over = c.over || cost == onStack
		return cost
	}
	total := c.own(s, n.value)
	c.spent += total
	if len(c.costs) >= maxCheckPairs || c.spent > maxCheckSteps {
		c.over = true
		return 0
	}
	c.costs[pair] = onStack
	for _, one := range inPlace(s) {
		total += c.count(one, n)
	}
	switch value := n.value.(type) {
	case map[string]any:
		total += c.members(s, n, value)
	case []any:
		total += c.items(s, n, value)
	}
	c.over = c.over || total > maxCheckSteps
	c.costs[pair] = total
	return total
}

// own is the cost of a schema with a value apart from other schemas.
func (c *checkCost) own(s *jsonschema.Schema, value any) int {
	cost := 1 + len(s.Required)
	if s.Const != nil {
		cost += sizeOf(*s.Const)
	}
	if s.Enum != nil {
		cost += sizeOf(s.Enum.Values)
	}
	switch value := value.(type) {
	case string:
		cost += len(value)/stepText + matchCost(s.Pattern, value)
	case []any:
		cost += len(value)
		if s.UniqueItems {
			cost += sizeOf(value)
		}
	case map[string]any:
		cost += len(value)
		for _, required := range s.DependentRequired {
			cost += len(required)
		}
	}
	return cost
}

// matchCost is that of looking for a pattern in a text.
func matchCost(pattern jsonschema.Regexp, text string) int {
	if sized, ok := pattern.(*sizedPattern); ok {
		return 1 + len(text)*sized.size/stepText
	}
	return 0
}

// sizeOf is the number of values in a value.
func sizeOf(value any) int {
	size := 1
	switch value := value.(type) {
	case map[string]any:
		for _, one := range value {
			size += sizeOf(one)
		}
	case []any:
		for _, one := range value {
			size += sizeOf(one)
		}
	case string:
		size += len(value) / stepText
	}
	return size
}

// inPlace are the schemas that a schema applies to the value it is about itself.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	schemas := []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}
	schemas = append(schemas, s.AllOf...)
	schemas = append(schemas, s.AnyOf...)
	schemas = append(schemas, s.OneOf...)
	for _, one := range s.DependentSchemas {
		schemas = append(schemas, one)
	}
	for _, one := range s.Dependencies {
		if one, ok := one.(*jsonschema.Schema); ok {
			schemas = append(schemas, one)
		}
	}
	return schemas
}

// members counts the schemas that are about the members of an object.
func (c *checkCost) members(s *jsonschema.Schema, n *costNode, object map[string]any) int {
	others, _ := s.AdditionalProperties.(*jsonschema.Schema)
	total := 0
	for name, value := range object {
		if c.over {
			return total
		}
		member := n.part(costPart{name: name}, value)
		for pattern, one := range s.PatternProperties {
			tried := matchCost(pattern, name)
			c.spent += tried
			total += tried + c.count(one, member)
		}
		total += c.count(s.Properties[name], member) + c.count(others, member) + c.count(s.UnevaluatedProperties, member)
		if s.PropertyNames != nil {
			total += c.count(s.PropertyNames, n.part(costPart{name: name, isName: true}, name))
		}
	}
	return total
}

// items counts the schemas that are about the items of an array.
func (c *checkCost) items(s *jsonschema.Schema, n *costNode, array []any) int {
	all := []*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems}
	placed := s.PrefixItems
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		all = append(all, items)
	case []*jsonschema.Schema:
		placed = items
	}
	if others, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		all = append(all, others)
	}
	total := 0
	for i, value := range array {
		if c.over {
			return total
		}
		item := n.part(costPart{item: i}, value)
		if i < len(placed) {
			total += c.count(placed[i], item)
		}
		for _, one := range all {
			total += c.count(one, item)
		}
	}
	return total
}

// part is a member or an item of a value, the same one each time.
func (n *costNode) part(at costPart, value any) *costNode {
	part, ok := n.parts[at]
	if !ok {
		part = &costNode{value: value}
		if n.parts == nil {
			n.parts = map[costPart]*costNode{}
		}
		n.parts[at] = part
	}
	return part
}
