package strictyaml

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Decode reads a whole file into the struct that target points to, over the values that it
// has. The keys are in the tag yaml of the fields ("-": not a key), the values that a string
// may have in the tag oneof. yaml's own decoder knows no key paths and stops at the first
// unknown key.
func (r *Reader) Decode(root *yaml.Node, target any) {
	r.lines = map[string]int{"": root.Line}
	r.decodeValue(root, "", reflect.ValueOf(target).Elem(), "")
}

func (r *Reader) decodeValue(node *yaml.Node, key string, target reflect.Value, options reflect.StructTag) {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		r.Problem(key, "anchors and aliases are not read; write the value out")
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		// A key without a value keeps its default.
	case target.Kind() == reflect.Struct:
		r.decodeStruct(node, key, target)
	case target.Kind() == reflect.Slice:
		r.decodeList(node, key, target)
	case node.Kind != yaml.ScalarNode:
		r.Problem(key, "must be %s, and is %s", wanted(target), Kind(node))
	default:
		r.decodeScalar(node, key, target, options)
	}
}

func (r *Reader) decodeStruct(node *yaml.Node, key string, target reflect.Value) {
	fields := fieldsOf(target.Type())
	if node.Kind != yaml.MappingNode {
		r.Problem(key, "must be a mapping with the keys %s, and is %s", strings.Join(fields.keys(), ", "), Kind(node))
		return
	}
	r.Members(node, key, func(name, value *yaml.Node, path string) {
		r.lines[path] = name.Line
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return f.Tag.Get("yaml") == name.Value })
		if i < 0 {
			r.Problem(path, "%s", UnknownKey(fields.keys()))
			return
		}
		r.decodeValue(value, path, target.FieldByIndex(fields[i].Index), fields[i].Tag)
	})
}

// decodeList replaces the default of a list as a whole.
func (r *Reader) decodeList(node *yaml.Node, key string, target reflect.Value) {
	if node.Kind != yaml.SequenceNode {
		r.Problem(key, "must be a list, and is %s", Kind(node))
		return
	}
	list := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		path := Index(key, i)
		r.lines[path] = item.Line
		r.decodeValue(item, path, list.Index(i), "")
	}
	target.Set(list)
}

func (r *Reader) decodeScalar(node *yaml.Node, key string, target reflect.Value, options reflect.StructTag) {
	text, err := r.expanded(node.Value)
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
			r.Problem(key, "%q is not known; write %s", text, Either(allowed))
		}
	}
}

// expanded returns a text with its references resolved.
func (r *Reader) expanded(text string) (string, error) {
	if r.Expand == nil {
		return text, nil
	}
	return r.Expand(text)
}

// Either lists values as in "auto, comment or off".
func Either(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
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

// fields are those of a struct that have a key, in order.
type fields []reflect.StructField

func fieldsOf(t reflect.Type) (all fields) {
	for field := range t.Fields() {
		if field.Tag.Get("yaml") != "-" {
			all = append(all, field)
		}
	}
	return all
}

func (f fields) keys() []string {
	keys := make([]string, len(f))
	for i, field := range f {
		keys[i] = field.Tag.Get("yaml")
	}
	return keys
}

// Given reports whether the key is in the file that was decoded.
func (r *Reader) Given(key string) bool { return r.lines[key] > 0 }

// Problem notes a mistake of a decoded key, at its own line or that of the nearest key around
// it that is in the file. It is left out if the key, or one in it, has a mistake already.
func (r *Reader) Problem(key, format string, args ...any) {
	for _, earlier := range r.Errors {
		if rest, ok := strings.CutPrefix(earlier.Key, key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	present := key
	for r.lines[present] == 0 && present != "" {
		present = present[:max(strings.LastIndexAny(present, ".["), 0)]
	}
	r.Fail(&yaml.Node{Line: r.lines[present]}, key, format, args...)
}
