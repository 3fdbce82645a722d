package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/heldcall/heldcall/internal/strictyaml"
	"go.yaml.in/yaml/v3"
)

// profiles are the built-in tools: see profiles.yaml.
type profiles struct {
	named     map[string]*tool
	globs     []*tool // by falling specificity
	agents    map[string]string
	sensitive []*match.PathGlob // paths that may hold secrets
	harmless  []*match.PathGlob // names among them that do not
	risks     bool              // the risks decide where no rule does and the policy has no default
}

//go:embed profiles.yaml
var profilesFile []byte

// knownProfiles are the profiles of all agents. They never change.
var knownProfiles = sync.OnceValue(func() *profiles {
	known := &profiles{named: map[string]*tool{}, agents: map[string]string{}, risks: true}
	r := newReader("profiles.yaml")
	r.Mapping(r.Root(profilesFile), "", []strictyaml.Key{
		{Name: "tools", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) { known.add(r.profile(name.Value, value, path)) })
		}},
		{Name: "sensitive", Read: r.pathGlobs(&known.sensitive)},
		{Name: "harmless", Read: r.pathGlobs(&known.harmless)},
	})
	if len(r.Errors) > 0 {
		panic("internal error: the profiles are not well formed: " + r.Errors.Error())
	}
	return known
})

func (p *profiles) add(t *tool, agents string) {
	p.agents[t.name] = agents
	if t.names.Literal() {
		p.named[t.name] = t
		return
	}
	p.globs = append(p.globs, t)
	slices.SortFunc(p.globs, bySpecificity)
}

func (p *profiles) find(name string) *tool {
	if t := p.named[name]; t != nil {
		return t
	}
	return find(p.globs, name)
}

// of are the profiles of some agents.
func (p *profiles) of(agents []string) *profiles {
	some := &profiles{named: map[string]*tool{}, agents: map[string]string{}, sensitive: p.sensitive, harmless: p.harmless, risks: p.risks}
	for _, t := range p.all() {
		for _, agent := range strings.Fields(p.agents[t.name]) {
			if slices.Contains(agents, agent) {
				some.add(t, p.agents[t.name])
				break
			}
		}
	}
	return some
}

// without are the profiles without the say of their risks.
func (p *profiles) without() *profiles {
	same := *p
	same.risks = false
	return &same
}

func (p *profiles) all() []*tool {
	all := slices.Clone(p.globs)
	for _, t := range p.named {
		all = append(all, t)
	}
	return all
}

// names are the agents that have a profile.
func (p *profiles) names() []string {
	var names []string
	for _, agents := range p.agents {
		names = append(names, strings.Fields(agents)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// profile reads one built-in tool.
func (r *reader) profile(name string, n *yaml.Node, path string) (*tool, string) {
	t := &tool{name: name, names: match.NewGlob(name), where: "built-in profile of " + name, builtin: true}
	agents := ""
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "agents", Read: r.SetText(&agents)},
		{Name: "resource", Read: func(n *yaml.Node, _ string) { t.typed, t.fields = true, splitFields(n.Value) }},
		{Name: "as", Read: func(n *yaml.Node, path string) { r.as(n, path, t) }},
		{Name: "each", Read: r.SetBool(&t.each)},
		{Name: "workdir", Read: func(n *yaml.Node, _ string) { t.workdir = splitFields(n.Value) }},
		{Name: "args", Read: func(n *yaml.Node, _ string) { t.args, t.listed = strings.Fields(n.Value), true }},
		{Name: "leaves", Read: func(n *yaml.Node, _ string) { t.leaves = n.Value }},
		{Name: "without", Read: func(n *yaml.Node, _ string) { t.without = n.Value }},
		{Name: "below", Read: func(n *yaml.Node, _ string) { t.below = strings.Fields(n.Value) }},
		{Name: "tree", Read: r.SetBool(&t.tree)},
		{Name: "risk", Read: func(n *yaml.Node, path string) { t.risk = r.risk(n, path) }},
	})
	return t, agents
}

// splitFields are fields with spaces between, each a path with dots.
func splitFields(text string) [][]string {
	var fields [][]string
	for _, field := range strings.Fields(text) {
		fields = append(fields, strings.Split(field, "."))
	}
	return fields
}

// pathGlobs reads a list of path patterns.
func (r *reader) pathGlobs(to *[]*match.PathGlob) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		r.List(n, path, "path patterns", func(n *yaml.Node, path string) {
			g, err := match.NewPathGlob(n.Value)
			if err != nil {
				r.Fail(n, path, "%s", err)
				return
			}
			*to = append(*to, g)
		})
	}
}
