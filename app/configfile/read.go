// Package configfile reads a configuration file in YAML into a struct: with references to
// the environment, and each mistake with its line and key. To read it: read.go, then
// environment.go, value.go and problems.go.
package configfile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Read reads a file into the struct that target points to, over the values that it has;
// lookup finds variables of the environment. The keys are in the tag yaml of the fields
// ("-": not a key), the values that a string may have in the tag oneof. It returns the
// mistakes, to which checks of the values may add. It fails if the file is not YAML.
func Read(content []byte, lookup func(string) (string, bool), target any) (*Problems, *strictyaml.Error) {
	root, problem := parseYAML(content)
	if problem != nil {
		return nil, problem
	}
	found := &Problems{lines: map[string]int{}}
	if root != nil {
		(&reader{found, lookup}).read(root, target)
	}
	return found, nil
}

// reader fills a struct from YAML nodes. yaml's own decoder knows no key paths and
// stops at the first unknown key.
type reader struct {
	*Problems
	lookup func(string) (string, bool)
}

// read fills the struct that target points to from the root of the file.
func (r *reader) read(root *yaml.Node, target any) {
	r.lines[""] = root.Line
	r.readValue(root, "", reflect.ValueOf(target).Elem(), "")
}

func (r *reader) readValue(node *yaml.Node, key string, target reflect.Value, options reflect.StructTag) {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		r.Problem(key, "anchors and aliases are not read; write the value out")
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		// A key without a value keeps its default.
	case target.Kind() == reflect.Struct:
		r.readStruct(node, key, target)
	case target.Kind() == reflect.Slice:
		r.readList(node, key, target)
	case node.Kind != yaml.ScalarNode:
		r.Problem(key, "must be %s, and is %s", wanted(target), strictyaml.Kind(node))
	default:
		r.readScalar(node, key, target, options)
	}
}

func (r *reader) readStruct(node *yaml.Node, key string, target reflect.Value) {
	if node.Kind != yaml.MappingNode {
		r.Problem(key, "must be a mapping with the keys %s, and is %s", strings.Join(yamlKeys(target.Type()), ", "), strictyaml.Kind(node))
		return
	}
	r.yaml.Members(node, key, func(name, value *yaml.Node, path string) {
		r.lines[path] = name.Line
		field, ok := fieldByKey(target.Type(), name.Value)
		if !ok {
			r.Problem(path, "%s", strictyaml.UnknownKey(yamlKeys(target.Type())))
			return
		}
		r.readValue(value, path, target.FieldByIndex(field.Index), field.Tag)
	})
}

// readList replaces the default of a list as a whole.
func (r *reader) readList(node *yaml.Node, key string, target reflect.Value) {
	if node.Kind != yaml.SequenceNode {
		r.Problem(key, "must be a list, and is %s", strictyaml.Kind(node))
		return
	}
	list := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		path := fmt.Sprintf("%s[%d]", key, i)
		r.lines[path] = item.Line
		r.readValue(item, path, list.Index(i), "")
	}
	target.Set(list)
}

func (r *reader) readScalar(node *yaml.Node, key string, target reflect.Value, options reflect.StructTag) {
	text, err := expandReferences(node.Value, r.lookup)
	if err != nil {
		r.Problem(key, "%s", err)
		return
	}
	quoted := node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
	switch target.Interface().(type) {
	case time.Duration:
		d, err := ParseDuration(text)
		if err != nil {
			r.Problem(key, "%s", err)
		}
		target.SetInt(int64(d))
	case Size:
		size, err := parseSize(text)
		if err != nil {
			r.Problem(key, "%s", err)
		}
		target.SetInt(int64(size))
	case bool:
		if quoted || (text != "true" && text != "false") {
			r.Problem(key, "%q is not a boolean; write true or false", text)
		}
		target.SetBool(text == "true")
	case int:
		n, err := strconv.Atoi(text)
		if quoted || err != nil {
			r.Problem(key, "%q is not a whole number", text)
		}
		target.SetInt(int64(n))
	default:
		target.SetString(text)
		if allowed := strings.Fields(options.Get("oneof")); len(allowed) > 0 && !slices.Contains(allowed, text) {
			r.Problem(key, "%q is not known; write %s", text, either(allowed))
		}
	}
}

// wanted describes the form of a value that is neither struct nor list.
func wanted(target reflect.Value) string {
	switch target.Interface().(type) {
	case time.Duration:
		return "a duration such as 10s"
	case Size:
		return "a size such as 64MiB"
	case bool:
		return "true or false"
	case int:
		return "a whole number"
	}
	return "a single value"
}

// yamlKeys returns the keys of a struct, in the order of its fields.
func yamlKeys(t reflect.Type) []string {
	var keys []string
	for field := range t.Fields() {
		if key := field.Tag.Get("yaml"); key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

func fieldByKey(t reflect.Type, key string) (reflect.StructField, bool) {
	for field := range t.Fields() {
		if tag := field.Tag.Get("yaml"); tag == key && tag != "-" {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// parseYAML returns the root node of the only document, or nil if the file
// holds none. References to the environment are marked before parsing, so that
// ${NAME} may be unquoted in a flow mapping, and expanded after parsing.
func parseYAML(content []byte) (*yaml.Node, *strictyaml.Error) {
	if line, ok := lineOfMark(content); ok {
		return nil, &strictyaml.Error{Line: line, Problem: "the private-use characters U+E000 and U+E001 are not allowed; remove them"}
	}
	root, problem := strictyaml.Document(markReferences(content))
	if problem != nil {
		problem.Problem = unmarkReferences(problem.Problem)
	}
	return root, problem
}
