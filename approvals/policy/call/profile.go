package call

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/internal/toolname"
)

// Profiles are the built-in tools: see profiles.yaml.
type Profiles struct {
	named     map[string]*Tool
	keyed     map[string][]string // names by their [toolname.Key]
	globs     []*Tool             // by falling specificity
	agents    map[string]string
	sensitive []*match.PathGlob // paths that may hold secrets
	screen    match.Screen      // of sensitive
	speaking  int               // how many of the first of these only speak of secrets
	harmless  []*match.PathGlob // names among them that do not
	code      []*match.PathGlob // files of code and documents

	compiled, scripts, codeWords map[string]bool // suffixes and words of names: see isSource

	Risks bool // the risks decide where no rule does and the policy has no default
}

//go:embed profiles.yaml
var profilesFile []byte

// KnownProfiles are the profiles of all agents. They never change.
var KnownProfiles = sync.OnceValue(func() *Profiles {
	known := &Profiles{named: map[string]*Tool{}, keyed: map[string][]string{}, agents: map[string]string{}, Risks: true}
	r := &strictyaml.Reader{File: "profiles.yaml"}
	r.Mapping(r.Root(profilesFile), "", []strictyaml.Key{
		{Name: "tools", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) { known.add(readProfile(r, name.Value, value, path)) })
		}},
		{Name: "speaking", Read: func(n *yaml.Node, path string) {
			readPathGlobs(r, &known.sensitive)(n, path)
			known.speaking = len(known.sensitive)
		}},
		{Name: "sensitive", Read: readPathGlobs(r, &known.sensitive)},
		{Name: "harmless", Read: readPathGlobs(r, &known.harmless)},
		{Name: "code", Read: readPathGlobs(r, &known.code)},
		{Name: "compiled", Read: readWords(&known.compiled)},
		{Name: "scripts", Read: readWords(&known.scripts)},
		{Name: "code_words", Read: readWords(&known.codeWords)},
	})
	known.screen = match.NewScreen(known.sensitive)
	if len(r.Errors) > 0 {
		panic("internal error: the profiles are not well formed: " + r.Errors.Error())
	}
	return known
})

func (p *Profiles) add(t *Tool, agents string) {
	p.agents[t.Name] = agents
	if t.Names.Literal() {
		key := toolname.Key(t.Name)
		p.named[t.Name], p.keyed[key] = t, append(p.keyed[key], t.Name)
		return
	}
	p.globs = append(p.globs, t)
	slices.SortFunc(p.globs, BySpecificity)
}

// Find returns the profile of a tool, or nil.
func (p *Profiles) Find(name string) *Tool {
	if t := p.named[name]; t != nil {
		return t
	}
	return find(p.globs, name)
}

// Of are the profiles of some agents.
func (p *Profiles) Of(agents []string) *Profiles {
	some := &Profiles{named: map[string]*Tool{}, keyed: map[string][]string{}, agents: map[string]string{}, sensitive: p.sensitive, screen: p.screen, speaking: p.speaking, harmless: p.harmless, code: p.code, compiled: p.compiled, scripts: p.scripts, codeWords: p.codeWords, Risks: p.Risks}
	for _, t := range p.All() {
		for _, agent := range strings.Fields(p.agents[t.Name]) {
			if slices.Contains(agents, agent) {
				some.add(t, p.agents[t.Name])
				break
			}
		}
	}
	return some
}

// Without returns the profiles with risks that decide nothing.
func (p *Profiles) Without() *Profiles {
	same := *p
	same.Risks = false
	return &same
}

// All returns all profiles, in no order.
func (p *Profiles) All() []*Tool {
	all := slices.Clone(p.globs)
	for _, t := range p.named {
		all = append(all, t)
	}
	return all
}

// Agents are the agents that have a profile.
func (p *Profiles) Agents() []string {
	var names []string
	for _, agents := range p.agents {
		names = append(names, strings.Fields(agents)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func readProfile(r *strictyaml.Reader, name string, n *yaml.Node, path string) (*Tool, string) {
	t := &Tool{Name: name, Names: match.NewGlob(name), Where: "built-in profile of " + name, Builtin: true}
	agents := ""
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "agents", Read: r.SetText(&agents)},
		{Name: "resource", Read: func(n *yaml.Node, _ string) { t.Typed, t.Fields = true, splitFields(n.Value) }},
		{Name: "as", Read: func(n *yaml.Node, path string) { ReadKind(r, n, path, t) }},
		{Name: "each", Read: r.SetBool(&t.Each)},
		{Name: "workdir", Read: func(n *yaml.Node, _ string) { t.Workdir = splitFields(n.Value) }},
		{Name: "args", Read: func(n *yaml.Node, _ string) { t.Args, t.Listed = strings.Fields(n.Value), true }},
		{Name: "leaves", Read: func(n *yaml.Node, _ string) { t.Leaves = n.Value }},
		{Name: "without", Read: func(n *yaml.Node, _ string) { t.Without, t.Optional = n.Value, true }},
		{Name: "below", Read: func(n *yaml.Node, _ string) { t.Below = strings.Fields(n.Value) }},
		{Name: "tree", Read: r.SetBool(&t.Tree)},
		{Name: "starts", Read: r.SetText(&t.Starts)},
		{Name: "powershell", Read: r.SetBool(&t.PowerShell)},
		{Name: "low", Read: func(n *yaml.Node, _ string) { t.Low = strings.Fields(n.Value) }},
		{Name: "risk", Read: SetRisk(r, &t.Risk)},
	})
	return t, agents
}

func splitFields(text string) [][]string {
	var fields [][]string
	for _, field := range strings.Fields(text) {
		fields = append(fields, strings.Split(field, "."))
	}
	return fields
}

func readWords(to *map[string]bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, _ string) {
		*to = map[string]bool{}
		for word := range strings.FieldsSeq(n.Value) {
			(*to)[word] = true
		}
	}
}

func readPathGlobs(r *strictyaml.Reader, to *[]*match.PathGlob) func(*yaml.Node, string) {
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
