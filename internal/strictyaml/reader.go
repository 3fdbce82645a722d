package strictyaml

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Reader reads a file, node by node or as a whole into a struct ([Reader.Decode]), and notes
// every mistake with its line and key.
type Reader struct {
	File   string // as errors name it
	Errors Errors
	// Extended is the name of a text whose lines count on after line From, which is none of the file's. Empty: there is none.
	Extended string
	From     int
	// Expand resolves the references in a scalar that is decoded. Nil: it has none.
	Expand func(text string) (string, error)

	lines map[string]int // key path -> line, for every key that was decoded
}

// Fail notes a mistake at a node.
func (r *Reader) Fail(n *yaml.Node, key, format string, args ...any) {
	file, line := r.at(n.Line)
	r.Errors = append(r.Errors, &Error{File: file, Line: line, Key: key, Problem: fmt.Sprintf(format, args...)})
}

// IsExtended reports whether a line is of the extended text.
func (r *Reader) IsExtended(line int) bool { return r.Extended != "" && line > r.From }

// at returns the file of a line, and its number there.
func (r *Reader) at(line int) (file string, number int) {
	if r.IsExtended(line) {
		return r.Extended, line - r.From
	}
	return r.File, line
}

// Place returns a line as texts name it, with the last element of the file's name:
// policy.yaml:12. The extended text has its whole name: starter/1:12.
func (r *Reader) Place(line int) string {
	file, number := r.at(line)
	if file == r.File {
		file = filepath.Base(file)
	}
	return fmt.Sprintf("%s:%d", file, number)
}

// UnknownKey is the problem text of an unknown key.
func UnknownKey(known []string) string {
	return "unknown key; the keys here are " + strings.Join(known, ", ")
}

// Members visits the members of a mapping, each name once.
func (r *Reader) Members(n *yaml.Node, path string, visit func(name, value *yaml.Node, path string)) {
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		r.Fail(n, path, "must be a mapping of keys to values, and is %s", Describe(n))
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Kind != yaml.ScalarNode || name.ShortTag() != "!!str" {
			r.Fail(name, path, "has %s as a key: write a text", Describe(name))
			continue
		}
		at := Join(path, name.Value)
		if line, twice := lines[name.Value]; twice {
			r.Fail(name, at, "is given twice, first in line %d; remove one", line)
			continue
		}
		lines[name.Value] = name.Line
		visit(name, value, at)
	}
}

// Key is one key of a mapping, and the function that reads its value.
type Key struct {
	Name string
	Read func(value *yaml.Node, path string)
}

// Mapping reads a mapping whose keys are all known. Those in later are keys that this
// version does not support yet.
func (r *Reader) Mapping(n *yaml.Node, path string, keys []Key, later ...string) {
	r.Members(n, path, func(name, value *yaml.Node, path string) {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name.Value })
		switch {
		case i >= 0:
			keys[i].Read(value, path)
		case slices.Contains(later, name.Value):
			r.Fail(name, path, "is not supported yet by this version")
		default:
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.Name
			}
			r.Fail(name, path, "%s", UnknownKey(names))
		}
	})
}

// Root returns the root of the only YAML document in the file, or nil if there is none.
func (r *Reader) Root(content []byte) *yaml.Node {
	root, err := Document(content)
	if err != nil {
		err.File = r.File
		r.Errors = append(r.Errors, err)
	}
	return root
}

// Join returns the path of a member.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index returns the path of an item of a list.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// List visits the items of a list.
func (r *Reader) List(n *yaml.Node, path, of string, visit func(item *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		r.Fail(n, path, "must be a list of %s, and is %s", of, Describe(n))
		return
	}
	if len(n.Content) == 0 {
		r.Fail(n, path, "is empty: name %s or remove the key", of)
	}
	for i, item := range n.Content {
		visit(item, Index(path, i))
	}
}

// Text reads a text that is not empty.
func (r *Reader) Text(n *yaml.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		r.Fail(n, path, "must be a text, and is %s", Describe(n))
		return "", false
	}
	if strings.TrimSpace(n.Value) == "" {
		r.Fail(n, path, "is empty")
		return "", false
	}
	return n.Value, true
}

// OneOf reads a text that is one of a few.
func (r *Reader) OneOf(n *yaml.Node, path string, known []string) string {
	s, ok := r.Text(n, path)
	switch {
	case !ok:
	case slices.Contains(known, s):
		return s
	default:
		r.Fail(n, path, "is %q: write %s", s, strings.Join(known, ", "))
	}
	return ""
}

// Duration reads a time above zero, with its unit.
func (r *Reader) Duration(n *yaml.Node, path string) time.Duration {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		r.Fail(n, path, "has no unit: write %ss for seconds, or m or h", n.Value)
		return 0
	}
	s, ok := r.Text(n, path)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		r.Fail(n, path, "%q is not a time: write it as 90s, 30m or 2h", s)
		return 0
	}
	if d < time.Second {
		r.Fail(n, path, "must be at least 1s")
		return 0
	}
	return d
}

// Number reads a whole number from a least one up.
func (r *Reader) Number(n *yaml.Node, path string, least int) int {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || i < least {
		r.Fail(n, path, "must be a whole number from %d up, and is %s", least, Describe(n))
		return 0
	}
	return i
}

// Bool reads true or false.
func (r *Reader) Bool(n *yaml.Node, path string) bool {
	var b bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
		r.Fail(n, path, "must be true or false, and is %s", Describe(n))
	}
	return b
}

// SetBool returns a function that reads true or false into a variable.
func (r *Reader) SetBool(to *bool) func(n *yaml.Node, path string) {
	return func(n *yaml.Node, path string) { *to = r.Bool(n, path) }
}

// SetText returns a function that reads a text into a variable.
func (r *Reader) SetText(to *string) func(n *yaml.Node, path string) {
	return func(n *yaml.Node, path string) { *to, _ = r.Text(n, path) }
}

// Describe names what a node is, with the value of a scalar.
func Describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode:
		return "an alias (*" + n.Value + "), which is not read: quote a text that begins with *"
	case n.Kind != yaml.ScalarNode:
		return Kind(n)
	case n.ShortTag() == "!!null":
		return "empty"
	}
	return strconv.Quote(n.Value) + " (" + strings.TrimPrefix(n.ShortTag(), "!!") + ")"
}

// Kind names the kind of a node, without its value.
func Kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}
