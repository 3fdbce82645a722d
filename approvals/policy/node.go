package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// reader walks a YAML tree and notes every mistake with its line and key.
type reader struct {
	file   string // as errors name it
	base   string // as verdicts name it
	errors Errors
}

func (r *reader) fail(n *yaml.Node, key, format string, args ...any) {
	r.errors = append(r.errors, &Error{File: r.file, Line: n.Line, Key: key, Problem: fmt.Sprintf(format, args...)})
}

// key is one key of a mapping and what it is read by.
type key struct {
	name string
	read func(value *yaml.Node, path string)
}

// mapping reads a mapping whose keys are all known. Those in later are keys of
// the language that this version cannot obey.
func (r *reader) mapping(n *yaml.Node, path string, keys []key, later []string) {
	r.members(n, path, func(name *yaml.Node, value *yaml.Node, path string) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name.Value })
		switch {
		case i >= 0:
			keys[i].read(value, path)
		case slices.Contains(later, name.Value):
			r.fail(name, path, "is not supported yet by this version")
		default:
			r.fail(name, path, "is not a known key: write one of %s", keyNames(keys))
		}
	})
}

func keyNames(keys []key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}

// members visits the members of a mapping, each name once.
func (r *reader) members(n *yaml.Node, path string, visit func(name, value *yaml.Node, path string)) {
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		r.fail(n, path, "must be a mapping of keys to values, and is %s", describe(n))
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Kind != yaml.ScalarNode || name.ShortTag() != "!!str" {
			r.fail(name, path, "has %s as a key: write a text", describe(name))
			continue
		}
		at := join(path, name.Value)
		if line, twice := lines[name.Value]; twice {
			r.fail(name, at, "stands twice: first in line %d", line)
			continue
		}
		lines[name.Value] = name.Line
		visit(name, value, at)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// list visits the items of a list.
func (r *reader) list(n *yaml.Node, path, of string, visit func(item *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		r.fail(n, path, "must be a list of %s, and is %s", of, describe(n))
		return
	}
	if len(n.Content) == 0 {
		r.fail(n, path, "is empty: name %s or remove the key", of)
	}
	for i, item := range n.Content {
		visit(item, fmt.Sprintf("%s[%d]", path, i))
	}
}

// text reads a text that is not empty.
func (r *reader) text(n *yaml.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		r.fail(n, path, "must be a text, and is %s", describe(n))
		return "", false
	}
	if strings.TrimSpace(n.Value) == "" {
		r.fail(n, path, "is empty")
		return "", false
	}
	return n.Value, true
}

// oneOf reads a text that is one of a few.
func (r *reader) oneOf(n *yaml.Node, path string, known []string) string {
	s, ok := r.text(n, path)
	switch {
	case !ok:
	case slices.Contains(known, s):
		return s
	default:
		r.fail(n, path, "is %q: write %s", s, strings.Join(known, ", "))
	}
	return ""
}

// duration reads a time above zero, with its unit.
func (r *reader) duration(n *yaml.Node, path string) time.Duration {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		r.fail(n, path, "has no unit: write %ss for seconds, or m or h", n.Value)
		return 0
	}
	s, ok := r.text(n, path)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		r.fail(n, path, "%q is not a time: write it as 90s, 30m or 2h", s)
		return 0
	}
	if d < time.Second {
		r.fail(n, path, "must be at least 1s")
		return 0
	}
	return d
}

// number reads a whole number from a least one up.
func (r *reader) number(n *yaml.Node, path string, least int) int {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || i < least {
		r.fail(n, path, "must be a whole number from %d up, and is %s", least, describe(n))
		return 0
	}
	return i
}

// yesNo reads true or false.
func (r *reader) yesNo(n *yaml.Node, path string) bool {
	var b bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
		r.fail(n, path, "must be true or false, and is %s", describe(n))
	}
	return b
}

// describe says what a node is, for a mistake.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias (*" + n.Value + "), which policies do not have: quote a text that begins with *"
	}
	if n.ShortTag() == "!!null" {
		return "empty"
	}
	return strconv.Quote(n.Value) + " (" + strings.TrimPrefix(n.ShortTag(), "!!") + ")"
}
