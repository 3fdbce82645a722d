package rule

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

func (r *reader) tools(n *yaml.Node, path string, known *call.Known) {
	r.Members(n, path, func(name, value *yaml.Node, path string) {
		only, err := NewPattern(name.Value)
		switch {
		case err != nil:
			r.Fail(name, path, "%s", err)
			return
		case !only.Any:
			r.Fail(name, path, "must be a tool's name or a glob of names, without an argument")
			return
		}
		t := &call.Tool{Name: name.Value, Names: only.Tool, Where: fmt.Sprintf("tool %s (%s)", name.Value, r.Place(name.Line))}
		r.Mapping(value, path, []strictyaml.Key{
			{Name: "resource", Read: func(n *yaml.Node, path string) { t.Fields, t.Typed = r.fields(n, path), true }},
			{Name: "as", Read: func(n *yaml.Node, path string) {
				if n.Value == call.Question {
					t.Question = true
					return
				}
				call.ReadKind(&r.Reader, n, path, t)
				t.Typed, t.Kinded = true, true
			}},
			{Name: "replace", Read: r.SetBool(&t.Replace)},
			{Name: "workdir", Read: func(n *yaml.Node, path string) { t.Workdir, t.AnyFolder = r.fields(n, path), true }},
			{Name: "args", Read: func(n *yaml.Node, path string) { t.Args, t.Listed = r.args(n, path), true }},
			{Name: "risk", Read: call.SetRisk(&r.Reader, &t.Risk)},
			{Name: "default", Read: call.SetAction(&r.Reader, &t.Fallback)},
		}, "limit", "profile")
		known.Tools = append(known.Tools, t)
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

// args reads the names of other arguments.
func (r *reader) args(n *yaml.Node, path string) []string {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		return []string{}
	}
	return r.texts(n, path, "arguments")
}
