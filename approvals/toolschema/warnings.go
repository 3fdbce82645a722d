// Package toolschema compares the arguments of a call with the JSON Schema of its
// tool. Both come from an agent and are hostile: time and memory are bounded, and
// nothing is read but the schema itself.
package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// unusableSchema warns the reviewer of a tool whose arguments, edited or not,
	// cannot be checked.
	unusableSchema = "The tool's parameters are not a usable JSON Schema: edited arguments cannot be checked against it."
	// notAllCompared warns the reviewer of arguments of which there are too many.
	notAllCompared = "The arguments are too many to compare all of them with the tool's schema."

	maxSchemaFlags = 8      // about one call
	maxSchemaSteps = 20_000 // schemas and values looked at, for one call
	maxFlagName    = 60     // characters of an argument's name
)

// Cache contains the schemas that were compiled recently, by their text: the calls
// of a turn are often of one tool, and agents of one kind have the same tools. The
// zero value is empty and ready; it may be used concurrently.
type Cache struct {
	mu    sync.Mutex
	known map[string]cached
}

type cached struct {
	compiled *jsonschema.Schema
	err      error
}

const (
	maxKnownSchemas = 64      // then all of them are forgotten
	maxKnownSchema  = 8 << 10 // bytes of one that is remembered
)

func (t *Cache) compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	t.mu.Lock()
	known, ok := t.known[string(schema)]
	t.mu.Unlock()
	if ok {
		return known.compiled, known.err
	}
	known.compiled, known.err = compileSchema(schema, readPattern)
	if len(schema) <= maxKnownSchema {
		t.remember(string(schema), known)
	}
	return known.compiled, known.err
}

func (t *Cache) remember(text string, schema cached) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxKnownSchemas {
		t.known = make(map[string]cached, maxKnownSchemas)
	}
	t.known[text] = schema
}

// Warnings returns a sentence for each argument that the schema does not define or
// that has another type than it requires, and one for a schema that cannot be used.
// A schema that defines no names allows all of them. Arguments that are not a JSON
// object, or nil, are not compared.
func (t *Cache) Warnings(schema, arguments json.RawMessage) []string {
	compiled, err := t.compile(schema)
	switch {
	case err != nil:
		return []string{unusableSchema}
	case compiled == nil || len(arguments) == 0 || arguments[0] != '{':
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return nil // the decoder of the call flags it
	}
	c := &comparison{steps: maxSchemaSteps}
	c.compare([]*jsonschema.Schema{compiled}, nil, value, "")
	if c.steps <= 0 {
		c.flags = append(c.flags, notAllCompared)
	}
	return c.flags
}

// comparison is of one call's arguments with a schema. Each schema is looked at once
// for a value, so references to each other cost no more than others.
type comparison struct {
	steps int // left
	flags []string
}

// compare looks at a value, and at those in it, with the schemas that are about it:
// those that always are, and those that may be, being one of several.
func (c *comparison) compare(always, maybe []*jsonschema.Schema, value any, path string) {
	about := c.gather(always, maybe)
	if value == nil || !c.step() || !c.checkType(about.always, value, path) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !c.step() {
				return
			}
			at := join(path, name)
			sure, possible, known, speaks := c.member(about.always, name)
			alsoSure, alsoPossible, alsoKnown, alsoSpeaks := c.member(about.maybe, name)
			possible = slices.Concat(possible, alsoSure, alsoPossible)
			if (speaks || alsoSpeaks) && !known && !alsoKnown {
				c.flag("The tool's schema does not know the argument %s.", at)
			}
			c.compare(sure, possible, value[name], at)
		}
	case []any:
		sure, possible := items(about.always), items(about.maybe)
		for i, item := range value {
			if !c.step() {
				return
			}
			c.compare(sure, possible, item, path+"["+strconv.Itoa(i)+"]")
		}
	}
}

// step reports whether there is anything left to spend, and to say.
func (c *comparison) step() bool {
	c.steps--
	return c.steps > 0 && len(c.flags) < maxSchemaFlags
}

func (c *comparison) flag(format string, args ...any) {
	c.flags = append(c.flags, fmt.Sprintf(format, args...))
}

// gathered are schemas with those that they refer to.
type gathered struct {
	always, maybe []*jsonschema.Schema
	seen          map[*jsonschema.Schema]bool
}

func (c *comparison) gather(always, maybe []*jsonschema.Schema) *gathered {
	g := &gathered{seen: map[*jsonschema.Schema]bool{}}
	for _, s := range always {
		c.add(g, s, false)
	}
	for _, s := range maybe {
		c.add(g, s, true)
	}
	return g
}

func (c *comparison) add(g *gathered, s *jsonschema.Schema, choice bool) {
	if s == nil || g.seen[s] || !c.step() {
		return
	}
	g.seen[s] = true
	if choice {
		g.maybe = append(g.maybe, s)
	} else {
		g.always = append(g.always, s)
	}
	c.add(g, s.Ref, choice)
	for _, one := range s.AllOf {
		c.add(g, one, choice)
	}
	for _, one := range slices.Concat(s.AnyOf, s.OneOf, []*jsonschema.Schema{s.If, s.Then, s.Else}, slices.Collect(maps.Values(s.DependentSchemas))) {
		c.add(g, one, true)
	}
}

// checkType flags a value of another type than a schema wants.
func (c *comparison) checkType(about []*jsonschema.Schema, value any, path string) bool {
	is := typesOf(value)
	for _, s := range about {
		if s.Types == nil {
			continue
		}
		wanted := s.Types.ToStrings()
		if slices.ContainsFunc(is, func(t string) bool { return slices.Contains(wanted, t) }) {
			continue
		}
		what := "The argument " + path
		if path == "" {
			what = "The whole of the arguments"
		}
		c.flag("%s is of type %s, and the tool's schema wants %s.", what, is[0], strings.Join(wanted, " or "))
		return false
	}
	return true
}

// typesOf are the types of JSON Schema that a value has.
func typesOf(value any) []string {
	switch value := value.(type) {
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case []any:
		return []string{"array"}
	case map[string]any:
		return []string{"object"}
	case json.Number:
		if f, err := value.Float64(); err == nil && f != math.Trunc(f) {
			return []string{"number"}
		}
		return []string{"number", "integer"}
	}
	return []string{"null"}
}

// member finds the schemas that are about a member of an object, for sure or
// maybe. It reports whether any of them may know its name, and whether any says
// something of names at all. A pattern may match any name: none is tried.
func (c *comparison) member(about []*jsonschema.Schema, name string) (sure, maybe []*jsonschema.Schema, known, speaks bool) {
	for _, s := range about {
		c.steps -= 1 + len(s.PatternProperties)
		if c.steps <= 0 {
			return nil, nil, true, speaks
		}
		named := false
		if one, ok := s.Properties[name]; ok {
			sure, named = append(sure, one), true
		}
		others, _ := s.AdditionalProperties.(*jsonschema.Schema)
		switch {
		case len(s.PatternProperties) > 0:
			maybe = slices.AppendSeq(maybe, maps.Values(s.PatternProperties))
			if !named && others != nil {
				maybe = append(maybe, others)
			}
			named = true
		case others != nil && !named:
			sure, named = append(sure, others), true
		}
		allowed, _ := s.AdditionalProperties.(bool)
		known = known || named || allowed
		speaks = speaks || s.Properties != nil || len(s.PatternProperties) > 0 || s.AdditionalProperties != nil
	}
	return sure, maybe, known, speaks
}

// items are the schemas that are about each item of an array.
func items(about []*jsonschema.Schema) (of []*jsonschema.Schema) {
	for _, s := range about {
		if s.Items2020 != nil && len(s.PrefixItems) == 0 {
			of = append(of, s.Items2020)
		}
		if one, ok := s.Items.(*jsonschema.Schema); ok {
			of = append(of, one)
		}
	}
	return of
}

// join is the path of a member, as a person reads it.
func join(path, name string) string {
	if runes := []rune(name); len(runes) > maxFlagName {
		name = string(runes[:maxFlagName]) + "…"
	}
	if path != "" {
		path += "."
	}
	return path + strings.Trim(strconv.Quote(name), `"`)
}
