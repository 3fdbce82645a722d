package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/internal/strictyaml"
	"go.yaml.in/yaml/v3"
)

// tools reads what a policy says of tools.
func (r *reader) tools(n *yaml.Node, path string, p *Policy) {
	r.Members(n, path, func(name, value *yaml.Node, path string) {
		only, err := newPattern(name.Value)
		switch {
		case err != nil:
			r.Fail(name, path, "%s", err)
			return
		case !only.any:
			r.Fail(name, path, "must be a tool's name or a glob of names, without an argument")
			return
		}
		t := &tool{name: name.Value, names: only.tool, where: fmt.Sprintf("tool %s (%s)", name.Value, r.Place(name.Line))}
		r.Mapping(value, path, []strictyaml.Key{
			{Name: "resource", Read: func(n *yaml.Node, path string) { t.fields, t.typed = r.fields(n, path), true }},
			{Name: "as", Read: func(n *yaml.Node, path string) {
				r.as(n, path, t)
				t.typed, t.kinded = true, true
			}},
			{Name: "replace", Read: r.SetBool(&t.replace)},
			{Name: "workdir", Read: func(n *yaml.Node, path string) {
				t.workdir = r.fields(n, path)
				t.anyFolder = true
			}},
			{Name: "args", Read: func(n *yaml.Node, path string) { t.args, t.listed = r.args(n, path), true }},
			{Name: "risk", Read: func(n *yaml.Node, path string) { t.risk = r.risk(n, path) }},
			{Name: "default", Read: func(n *yaml.Node, path string) { t.fallback = r.action(n, path) }},
		}, "limit", "profile")
		p.tools = append(p.tools, t)
	})
}

// fields reads the path of a field, with dots, or a list of them.
func (r *reader) fields(n *yaml.Node, path string) [][]string {
	var all [][]string
	one := func(n *yaml.Node, path string) {
		s, ok := r.Text(n, path)
		if !ok {
			return
		}
		names := strings.Split(s, ".")
		if slices.Contains(names, "") {
			r.Fail(n, path, "%q is not a field: write name, or name.name for a field of a field", s)
		}
		all = append(all, names)
	}
	if n.Kind == yaml.SequenceNode {
		r.List(n, path, "fields", one)
	} else {
		one(n, path)
	}
	return all
}

// args reads the names of the arguments that a call may have besides.
func (r *reader) args(n *yaml.Node, path string) []string {
	names := []string{}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		return names
	}
	r.List(n, path, "arguments", func(n *yaml.Node, path string) {
		if name, ok := r.Text(n, path); ok {
			names = append(names, name)
		}
	})
	return names
}

// as reads what a resource is.
func (r *reader) as(n *yaml.Node, path string, t *tool) {
	switch r.OneOf(n, path, kindNames) {
	case "path":
		t.kind = asPath
	case "shell":
		t.kind = asShell
	case "url":
		t.kind = asURL
	case "patch":
		t.kind, t.patch = asPath, true
	}
}
