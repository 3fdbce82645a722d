package policy

import (
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// reader reads the YAML of a policy.
type reader struct {
	strictyaml.Reader
	base string // the file's name as verdicts contain it
}

func newReader(file string) *reader {
	return &reader{Reader: strictyaml.Reader{File: file}, base: filepath.Base(file)}
}

// key is one key of a mapping and what it is read by.
type key struct {
	name string
	read func(value *yaml.Node, path string)
}

// mapping reads a mapping whose keys are all known. Those in later are keys of
// the language that this version cannot obey.
func (r *reader) mapping(n *yaml.Node, path string, keys []key, later []string) {
	r.Members(n, path, func(name *yaml.Node, value *yaml.Node, path string) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name.Value })
		switch {
		case i >= 0:
			keys[i].read(value, path)
		case slices.Contains(later, name.Value):
			r.Fail(name, path, "is not supported yet by this version")
		default:
			r.Fail(name, path, "%s", strictyaml.UnknownKey(keyNames(keys)))
		}
	})
}

func keyNames(keys []key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}
