package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"go.yaml.in/yaml/v3"
)

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
	r := &reader{file: name, base: filepath.Base(name)}
	p := Default()
	if root := r.document(src); root != nil {
		r.policy(root, p)
	}
	if len(r.errors) > 0 {
		slices.SortStableFunc(r.errors, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
		return nil, r.errors
	}
	slices.SortFunc(p.tools, bySpecificity)
	for _, list := range [][]*pattern{p.deny, p.ask, p.allow} {
		slices.SortFunc(list, byStrictness)
	}
	return p, nil
}

// document parses the one YAML document of a file; nil if there is none.
func (r *reader) document(src []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			r.syntax(err)
		}
		return nil
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		r.fail(&more, "", "a second document begins here: a policy is one")
	case !errors.Is(err, io.EOF):
		r.syntax(err)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil
	}
	return root
}

// syntax notes an error of the YAML parser, which names its line in its text.
func (r *reader) syntax(err error) {
	problem := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &Error{File: r.file, Problem: problem}
	if m := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(problem); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Problem = m[2]
	}
	r.errors = append(r.errors, e)
}

func (r *reader) policy(root *yaml.Node, p *Policy) {
	var rules *yaml.Node
	r.mapping(root, "", []key{
		{"default", func(n *yaml.Node, path string) { p.fallback = r.action(n, path) }},
		{"tools", func(n *yaml.Node, path string) { r.tools(n, path, p) }},
		{"rules", func(n *yaml.Node, _ string) { rules = n }},
		{"hosted_tools", func(n *yaml.Node, path string) { r.hostedTools(n, path, &p.hosted) }},
		{"hosted_mcp", func(n *yaml.Node, path string) {
			p.hosted.freely = r.oneOf(n, path, []string{string(Ask), string(Allow)}) == string(Allow)
		}},
	}, []string{"ambiguous", "denial", "grants", "limit", "limits", "mode", "profiles"})
	empty := rules != nil && len(rules.Content) == 0 && (rules.Kind == yaml.SequenceNode || rules.ShortTag() == "!!null")
	if rules != nil && !empty { // after the tools, which say what the patterns' arguments are
		r.list(rules, "rules", "rules", func(n *yaml.Node, path string) { r.rule(n, path, p) })
	}
}

func (r *reader) action(n *yaml.Node, path string) Action {
	return Action(r.oneOf(n, path, []string{string(Ask), string(Allow), string(Deny)}))
}

func (r *reader) risk(n *yaml.Node, path string) approvals.Risk {
	return approvals.Risk(r.oneOf(n, path, []string{"low", "medium", "high", "critical"}))
}

func (r *reader) tools(n *yaml.Node, path string, p *Policy) {
	r.members(n, path, func(name, value *yaml.Node, path string) {
		only, err := newPattern(name.Value)
		switch {
		case err != nil:
			r.fail(name, path, "%s", err)
			return
		case !only.any:
			r.fail(name, path, "must be a tool's name or a glob of names, without an argument")
			return
		}
		t := tool{name: name.Value, names: only.tool, where: fmt.Sprintf("tool %s (%s:%d)", name.Value, r.base, name.Line)}
		r.mapping(value, path, []key{
			{"resource", func(n *yaml.Node, path string) { t.field, t.typed = r.field(n, path), true }},
			{"as", func(n *yaml.Node, path string) { t.kind, t.typed = r.kind(n, path), true }},
			{"risk", func(n *yaml.Node, path string) { t.risk = r.risk(n, path) }},
			{"default", func(n *yaml.Node, path string) { t.fallback = r.action(n, path) }},
		}, []string{"limit", "profile"})
		p.tools = append(p.tools, t)
	})
}

// field reads the path of a field, with dots.
func (r *reader) field(n *yaml.Node, path string) []string {
	if n.Kind == yaml.SequenceNode {
		r.fail(n, path, "a list of fields is not supported yet by this version")
		return nil
	}
	s, ok := r.text(n, path)
	if !ok {
		return nil
	}
	names := strings.Split(s, ".")
	if slices.Contains(names, "") {
		r.fail(n, path, "%q is not a field: write name, or name.name for a field of a field", s)
	}
	return names
}

func (r *reader) kind(n *yaml.Node, path string) kind {
	switch r.oneOf(n, path, []string{"plain", "path", "shell"}, "url") {
	case "path":
		return asPath
	case "shell":
		return asShell
	}
	return asPlain
}

func (r *reader) rule(n *yaml.Node, path string, p *Policy) {
	before := len(r.errors)
	one := &rule{}
	found := 0
	asks := false
	var askOnly []*yaml.Node // settings of a question, and their names
	list := func(to *[]*pattern, allows bool) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) {
			found++
			asks = asks || to == &p.ask
			r.patterns(n, path, one, p.tools, allows, to)
		}
	}
	question := func(read func(*yaml.Node, string)) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) {
			read(n, path)
			askOnly = append(askOnly, &yaml.Node{Line: n.Line, Value: path})
		}
	}
	r.mapping(n, path, []key{
		{"deny", list(&p.deny, false)},
		{"ask", list(&p.ask, false)},
		{"allow", list(&p.allow, true)},
		{"reason", func(n *yaml.Node, path string) { one.reason, _ = r.text(n, path) }},
		{"risk", func(n *yaml.Node, path string) { one.risk = r.risk(n, path) }},
		{"timeout", question(func(n *yaml.Node, path string) { one.timeout = r.duration(n, path) })},
		{"on_timeout", question(func(n *yaml.Node, path string) {
			one.onTimeout = r.oneOf(n, path, []string{approvals.OnTimeoutDeny, approvals.OnTimeoutApprove}, "escalate")
		})},
		{"reviewers", question(func(n *yaml.Node, path string) { one.reviewers = r.names(n, path) })},
		{"required_approvals", question(func(n *yaml.Node, path string) { one.required = r.count(n, path) })},
		{"remember", question(func(n *yaml.Node, path string) { one.forget = !r.yesNo(n, path) })},
	}, []string{"when", "rewrite", "set", "delete", "limit", "title", "denial", "escalate", "delegate", "scope"})
	if len(r.errors) > before {
		return
	}
	if found == 0 {
		r.fail(n, path, "names no deny, ask or allow list")
	}
	for _, setting := range askOnly {
		if !asks && found > 0 {
			r.fail(setting, setting.Value, "has no effect: it is about asking, and the rule has no ask list")
		}
	}
}

func (r *reader) names(n *yaml.Node, path string) []string {
	var names []string
	r.list(n, path, "reviewers", func(item *yaml.Node, path string) {
		if s, ok := r.text(item, path); ok {
			names = append(names, s)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// patterns reads the patterns of one list of a rule.
func (r *reader) patterns(n *yaml.Node, path string, of *rule, tools []tool, allows bool, to *[]*pattern) {
	r.list(n, path, "patterns", func(item *yaml.Node, path string) {
		s, ok := r.text(item, path)
		if !ok {
			return
		}
		p, err := newPattern(s)
		if err != nil {
			r.fail(item, path, "%s", err)
			return
		}
		for _, t := range tools {
			if !p.tool.meets(t.names) {
				continue
			}
			if err := p.check(t.kind, allows); err != nil {
				r.fail(item, path, "%s %s", s, err)
				return
			}
		}
		p.rule, p.line, p.where = of, item.Line, fmt.Sprintf("%s:%d", r.base, item.Line)
		*to = append(*to, p)
	})
}
