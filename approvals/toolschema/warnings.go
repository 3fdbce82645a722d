// Package toolschema hides the library by which the arguments of a call are compared with the JSON
// Schema of its tool. Both come from an agent and are hostile: time and memory are bounded, and references to other
// documents are not followed.
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
	// unusableSchema warns of a tool whose arguments cannot be checked.
	unusableSchema = "The tool's parameters are not a usable JSON Schema: edited arguments cannot be checked against it."
	// notAllCompared warns of too many arguments.
	notAllCompared = "The arguments are too many to compare all of them with the tool's schema."

	maxSchemaFlags = 8      // about one call
	maxSchemaSteps = 20_000 // schemas and values that are read, for one call
	maxFlagName    = 60     // characters of an argument's name
)

// Cache has the schemas that were compiled recently, by their text: calls are often of the
// same tools. The zero value is ready to use. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	known map[string]cached
}

type cached struct {
	compiled *jsonschema.Schema
	err      error
}

const (
	maxKnownSchemas = 64      // then all of them are removed
	maxKnownSchema  = 8 << 10 // bytes of a schema that is kept
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
		return nil // the request has a flag for arguments that are not strict JSON
	}
	c := &comparison{steps: maxSchemaSteps}
	c.compare([]*jsonschema.Schema{compiled}, nil, value, "")
	if c.steps <= 0 {
		c.flags = append(c.flags, notAllCompared)
	}
	return c.flags
}

// comparison compares the arguments of one call with a schema. It reads each schema once for
// a value, also if schemas refer to each other.
type comparison struct {
	steps int // left
	flags []string
}

// compare compares a value and the values in it with the schemas that always apply to it,
// and with those that may apply, such as one of several alternatives.
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
			sure, possible, known, limits := c.member(about.always, name)
			alsoSure, alsoPossible, alsoKnown, alsoLimits := c.member(about.maybe, name)
			possible = slices.Concat(possible, alsoSure, alsoPossible)
			if (limits || alsoLimits) && !known && !alsoKnown {
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

// step counts a step, and reports whether more steps and flags are allowed.
func (c *comparison) step() bool {
	c.steps--
	return c.steps > 0 && len(c.flags) < maxSchemaFlags
}

func (c *comparison) flag(format string, args ...any) {
	c.flags = append(c.flags, fmt.Sprintf(format, args...))
}

// gathered has schemas with the schemas that they refer to.
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

// checkType flags a value of another type than a schema requires.
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

// typesOf returns the types of JSON Schema that a value has.
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

// member returns the schemas that apply or may apply to a member of an object. known reports
// whether any schema may define its name, and limits whether any defines names at all.
// Patterns are not matched: each may match any name.
func (c *comparison) member(about []*jsonschema.Schema, name string) (sure, maybe []*jsonschema.Schema, known, limits bool) {
	for _, s := range about {
		c.steps -= 1 + len(s.PatternProperties)
		if c.steps <= 0 {
			return nil, nil, true, limits
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
		limits = limits || s.Properties != nil || len(s.PatternProperties) > 0 || s.AdditionalProperties != nil
	}
	return sure, maybe, known, limits
}

// items returns the schemas that apply to each item of an array.
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

// join returns the path of a member for people.
func join(path, name string) string {
	if runes := []rune(name); len(runes) > maxFlagName {
		name = string(runes[:maxFlagName]) + "…"
	}
	if path != "" {
		path += "."
	}
	return path + strings.Trim(strconv.Quote(name), `"`)
}
