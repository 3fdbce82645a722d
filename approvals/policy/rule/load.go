package rule

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// newestLanguage is the language of a policy that does not name one: a last * of an allow pattern covers all of the program
// that the pattern names. In language 1 it covers operands and listed options only.
const newestLanguage = 2

// Parse reads the rules of a policy. Errors contain the name as the file, rules its last element.
// It returns all mistakes as [strictyaml.Errors].
func Parse(name string, src []byte) (*Set, error) {
	r := newReader(name)
	set := EmptySet()
	set.Known.Profiles, set.fallback = call.KnownProfiles(), ""
	if root := r.Root(src); root != nil {
		r.policy(r.extend(root, src, set), set)
	}
	set.fallback = cmp.Or(set.fallback, call.Ask)
	if len(r.Errors) > 0 {
		slices.SortStableFunc(r.Errors, func(a, b *strictyaml.Error) int { return cmp.Compare(a.Line, b.Line) })
		return nil, r.Errors
	}
	return set, nil
}

func (r *reader) policy(root *yaml.Node, p *Set) {
	var tools, rules, secrets, results, taint *yaml.Node
	r.Mapping(root, "", []strictyaml.Key{
		{Name: "language", Read: func(n *yaml.Node, path string) {
			if p.language = r.Number(n, path, 1); p.language > newestLanguage {
				r.Fail(n, path, "is %d: write 1 or 2", p.language)
			}
		}},
		{Name: "extends", Read: func(*yaml.Node, string) {}}, // see extend
		{Name: "without", Read: func(*yaml.Node, string) {}},
		{Name: "default", Read: call.SetAction(&r.Reader, &p.fallback)},
		{Name: "ambiguous", Read: func(n *yaml.Node, path string) {
			p.Ambiguous = Basis{Rule: "ambiguous (" + r.Place(n.Line) + ")", Reason: "The call can be read in more than one way; the policy denies such calls."}
			call.SetOneOf(&r.Reader, &p.Ambiguous.Action, call.Ask, call.Deny)(n, path)
		}},
		{Name: "profiles", Read: func(n *yaml.Node, path string) { r.profiles(n, path, &p.Known) }},
		{Name: "programs", Read: func(n *yaml.Node, path string) {
			options := map[string]*programs.Program{}
			programs.ReadGiven(&r.Reader, n, path, options)
			p.Known.Programs = p.Known.Programs.With(options)
		}},
		{Name: "tools", Read: func(n *yaml.Node, _ string) { tools = n }},
		{Name: "rules", Read: func(n *yaml.Node, _ string) { rules = n }},
		{Name: "questions", Read: func(n *yaml.Node, path string) { r.readQuestions(n, path, &p.Questions) }},
		{Name: "secrets", Read: func(n *yaml.Node, _ string) { secrets = n }},
		{Name: "hosted_tools", Read: func(n *yaml.Node, path string) { r.hostedTools(n, path, &p.Hosted) }},
		{Name: "hosted_mcp", Read: call.SetOneOf(&r.Reader, &p.Hosted.mcp, call.Ask, call.Allow)},
		{Name: "results", Read: func(n *yaml.Node, _ string) { results = n }},
		{Name: "results_unseen", Read: call.SetOneOf(&r.Reader, &p.Results.Unseen, UnseenWarn, UnseenDeny)},
		{Name: "taint", Read: func(n *yaml.Node, _ string) { taint = n }},
		{Name: "workspace", Read: func(n *yaml.Node, path string) { r.readWorkspace(n, path, &p.Known) }},
	}, "denial", "grants", "limit", "limits", "mode")
	if p.fallback != "" {
		p.Known.Profiles = p.Known.Profiles.Without()
	}
	if tools != nil {
		r.tools(tools, "tools", &p.Known)
		slices.SortFunc(p.Known.Tools, call.BySpecificity)
		p.Known.Join()
	}
	if secrets != nil {
		r.readSecrets(secrets, "secrets", p)
	}
	var lists lists
	if rules != nil && !isEmpty(rules) { // after tools and profiles, which determine what the patterns' arguments are
		r.List(rules, "rules", "rules", func(n *yaml.Node, path string) { r.rule(n, path, p, &lists) })
	}
	for _, list := range [][]*Pattern{lists.deny, lists.ask, lists.allow, lists.rewrite} {
		slices.SortFunc(list, byStrictness)
	}
	p.Deny, p.Ask, p.Allow, p.Rewrite = NewIndex(lists.deny), NewIndex(lists.ask), NewAllowIndex(lists.allow), NewIndex(lists.rewrite)
	p.Limited = newLimited(&lists)
	r.readResults(results, taint, p)
}

func isEmpty(n *yaml.Node) bool {
	return len(n.Content) == 0 && (n.Kind == yaml.SequenceNode || n.ShortTag() == "!!null")
}

// readWorkspace reads the folders in which agents work. The policy itself is never inside.
func (r *reader) readWorkspace(n *yaml.Node, path string, known *call.Known) {
	file, err := filepath.Abs(r.File)
	if err != nil {
		r.Fail(n, path, "is relative to a folder that cannot be found: %s", err)
		return
	}
	var folders []workspace.Folder
	r.List(n, path, "folders", func(n *yaml.Node, path string) {
		text, ok := r.Text(n, path)
		if !ok {
			return
		}
		folder, err := workspace.NewFolder(text, filepath.Dir(file))
		if err != nil {
			r.Fail(n, path, "%s", err)
			return
		}
		folders = append(folders, folder)
	})
	known.Workspace = workspace.New(folders).Without(file)
}

// profiles reads all, none, or a list of agents.
func (r *reader) profiles(n *yaml.Node, path string, known *call.Known) {
	if n.Kind != yaml.SequenceNode {
		if r.OneOf(n, path, []string{"all", "none"}) == "none" {
			known.Profiles = known.Profiles.Of(nil)
		}
		return
	}
	var agents []string
	r.List(n, path, "agents", func(n *yaml.Node, path string) {
		name, ok := r.Text(n, path)
		switch {
		case !ok:
		case !slices.Contains(known.Profiles.Agents(), name):
			r.Fail(n, path, "is %q, which is not an agent with a profile: write %s", name, strings.Join(known.Profiles.Agents(), ", "))
		default:
			agents = append(agents, name)
		}
	})
	known.Profiles = known.Profiles.Of(agents)
}
