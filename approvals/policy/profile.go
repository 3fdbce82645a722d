package policy

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// profiles are the built-in tools: see profiles.yaml.
type profiles struct {
	named     map[string]*tool
	globs     []*tool // by falling specificity
	agents    map[string]string
	sensitive []*pathGlob // paths that may hold secrets
	harmless  []*pathGlob // names among them that do not
	risks     bool        // the risks decide where no rule does and the policy has no default
}

//go:embed profiles.yaml
var profilesFile []byte

// knownProfiles are the profiles of all agents. They never change.
var knownProfiles = sync.OnceValue(func() *profiles {
	known := &profiles{named: map[string]*tool{}, agents: map[string]string{}, risks: true}
	r := newReader("profiles.yaml")
	r.mapping(r.document(profilesFile), "", []key{
		{"tools", func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) { known.add(r.profile(name.Value, value, path)) })
		}},
		{"sensitive", r.pathGlobs(&known.sensitive)},
		{"harmless", r.pathGlobs(&known.harmless)},
	}, nil)
	if len(r.Errors) > 0 {
		panic("internal error: the profiles are not well formed: " + r.Errors.Error())
	}
	return known
})

func (p *profiles) add(t *tool, agents string) {
	p.agents[t.name] = agents
	if t.names.literal() {
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
	t := &tool{name: name, names: newGlob(name), where: "built-in profile of " + name, builtin: true}
	agents := ""
	yes := func(to *bool) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) { *to = r.Bool(n, path) }
	}
	r.mapping(n, path, []key{
		{"agents", func(n *yaml.Node, path string) { agents, _ = r.Text(n, path) }},
		{"resource", func(n *yaml.Node, _ string) { t.typed, t.fields = true, splitFields(n.Value) }},
		{"as", func(n *yaml.Node, path string) { r.as(n, path, t) }},
		{"each", yes(&t.each)},
		{"workdir", func(n *yaml.Node, _ string) { t.workdir = splitFields(n.Value) }},
		{"args", func(n *yaml.Node, _ string) { t.args, t.listed = strings.Fields(n.Value), true }},
		{"leaves", func(n *yaml.Node, _ string) { t.leaves = n.Value }},
		{"without", func(n *yaml.Node, _ string) { t.without = n.Value }},
		{"below", func(n *yaml.Node, _ string) { t.below = strings.Fields(n.Value) }},
		{"tree", yes(&t.tree)},
		{"risk", func(n *yaml.Node, path string) { t.risk = r.risk(n, path) }},
	}, nil)
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
func (r *reader) pathGlobs(to *[]*pathGlob) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		r.List(n, path, "path patterns", func(n *yaml.Node, path string) {
			g, err := newPathGlob(n.Value)
			if err != nil {
				r.Fail(n, path, "%s", err)
				return
			}
			*to = append(*to, g)
		})
	}
}
