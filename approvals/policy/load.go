package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Error is one mistake in a policy file.
type Error = strictyaml.Error

// Errors are all mistakes in a policy file.
type Errors = strictyaml.Errors

// Load reads a policy file. What is wrong in it is returned as [Errors].
func Load(file string) (*Policy, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	return Parse(file, src)
}

// Parse reads a policy. The name stands for its file in errors, and the last
// element of it in verdicts. What is wrong is returned as [Errors], all of it.
func Parse(name string, src []byte) (*Policy, error) {
	r := newReader(name)
	p := Default()
	p.profiles, p.fallback = knownProfiles(), ""
	if root := r.Root(src); root != nil {
		r.policy(root, p)
	}
	p.fallback = cmp.Or(p.fallback, Ask)
	if len(r.Errors) > 0 {
		slices.SortStableFunc(r.Errors, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
		return nil, r.Errors
	}
	return p, nil
}

// reader reads the YAML of a policy.
type reader struct{ strictyaml.Reader }

func newReader(file string) *reader { return &reader{strictyaml.Reader{File: file}} }

func (r *reader) policy(root *yaml.Node, p *Policy) {
	var tools, rules *yaml.Node
	r.Mapping(root, "", []strictyaml.Key{
		{Name: "default", Read: func(n *yaml.Node, path string) { p.fallback = r.action(n, path) }},
		{Name: "ambiguous", Read: func(n *yaml.Node, path string) {
			p.ambiguous = ground{
				action: Action(r.OneOf(n, path, []string{string(Ask), string(Deny)})), rule: "ambiguous (" + r.Place(n.Line) + ")",
				reason: "The call can be read in more than one way, and the policy denies such calls.",
			}
		}},
		{Name: "profiles", Read: func(n *yaml.Node, path string) { r.profiles(n, path, p) }},
		{Name: "programs", Read: func(n *yaml.Node, path string) {
			options := map[string]*shell.Program{}
			shell.ReadOptions(&r.Reader, n, path, options)
			p.programs = p.programs.With(options)
		}},
		{Name: "tools", Read: func(n *yaml.Node, _ string) { tools = n }},
		{Name: "rules", Read: func(n *yaml.Node, _ string) { rules = n }},
		{Name: "hosted_tools", Read: func(n *yaml.Node, path string) { r.hostedTools(n, path, &p.hosted) }},
		{Name: "hosted_mcp", Read: func(n *yaml.Node, path string) {
			p.hosted.freely = r.OneOf(n, path, []string{string(Ask), string(Allow)}) == string(Allow)
		}},
	}, "denial", "grants", "limit", "limits", "mode")
	if p.fallback != "" {
		p.profiles = p.profiles.without()
	}
	if tools != nil {
		r.tools(tools, "tools", p)
		slices.SortFunc(p.tools, bySpecificity)
	}
	var lists lists
	if rules != nil && !isEmpty(rules) { // after tools and profiles, which say what the patterns' arguments are
		r.List(rules, "rules", "rules", func(n *yaml.Node, path string) { r.rule(n, path, p, &lists) })
	}
	for _, list := range [][]*pattern{lists.deny, lists.ask, lists.allow, lists.rewrite} {
		slices.SortFunc(list, byStrictness)
	}
	p.deny, p.ask, p.allow, p.rewrite = newIndex(lists.deny), newIndex(lists.ask), newAllowIndex(lists.allow), newIndex(lists.rewrite)
	p.limited = newLimited(&lists)
}

func isEmpty(n *yaml.Node) bool {
	return len(n.Content) == 0 && (n.Kind == yaml.SequenceNode || n.ShortTag() == "!!null")
}

// profiles reads all, none, or the agents whose tools are known.
func (r *reader) profiles(n *yaml.Node, path string, p *Policy) {
	if n.Kind != yaml.SequenceNode {
		if r.OneOf(n, path, []string{"all", "none"}) == "none" {
			p.profiles = p.profiles.of(nil)
		}
		return
	}
	var agents []string
	r.List(n, path, "agents", func(n *yaml.Node, path string) {
		name, ok := r.Text(n, path)
		switch {
		case !ok:
		case !slices.Contains(p.profiles.names(), name):
			r.Fail(n, path, "is %q, which has no profile: write %s", name, strings.Join(p.profiles.names(), ", "))
		default:
			agents = append(agents, name)
		}
	})
	p.profiles = p.profiles.of(agents)
}

func (r *reader) action(n *yaml.Node, path string) Action {
	return Action(r.OneOf(n, path, []string{string(Ask), string(Allow), string(Deny)}))
}

func (r *reader) risk(n *yaml.Node, path string) approvals.Risk {
	return approvals.Risk(r.OneOf(n, path, []string{"low", "medium", "high", "critical"}))
}

//go:embed starter.yaml
var starter []byte

// Starter is a commented policy to start from, with safe defaults for coding
// agents.
func Starter() []byte { return bytes.Clone(starter) }
