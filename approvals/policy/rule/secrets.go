package rule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/mask"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

var secretName = regexp.MustCompile("^" + mask.Name + "$")

// readSecrets reads which calls get the value of a secret without a reviewer's consent.
func (r *reader) readSecrets(n *yaml.Node, path string, in *Set) {
	lists := map[string][]*Pattern{}
	r.List(n, path, "secrets", func(n *yaml.Node, path string) {
		var name string
		var tools []*Pattern
		before := len(r.Errors)
		r.Mapping(n, path, []strictyaml.Key{
			{Name: "name", Read: func(n *yaml.Node, path string) {
				if name, _ = r.Text(n, path); !secretName.MatchString(name) {
					r.Fail(n, path, "%q is not the name of a secret: write a name like that of an environment variable", name)
				}
			}},
			{Name: "tools", Read: func(n *yaml.Node, path string) { r.patterns(n, path, &Rule{OfSecret: true}, in, true, &tools) }},
		})
		switch {
		case len(r.Errors) > before:
		case name == "":
			r.Fail(n, path, "names no secret: write name")
		case len(tools) == 0:
			r.Fail(n, path, "has no tools: write patterns of calls that get the value")
		}
		lists[name] = append(lists[name], tools...)
	})
	in.Secrets = make(map[string]*Index, len(lists))
	for name, list := range lists {
		in.Secrets[name] = NewAllowIndex(list)
	}
}

// wideSecrets warns of secrets that any call of a tool with a known resource gets.
func (p *Set) wideSecrets() (warnings []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		for _, pattern := range p.Secrets[name].All {
			if names := p.withResource(pattern); pattern.Any && len(names) > 0 {
				warnings = append(warnings, fmt.Sprintf("%s: any call of %s that is released gets the secret %s: write %s(...) to give it to some.", pattern.Where, someOf(names), name, names[0]))
			}
		}
	}
	return warnings
}
