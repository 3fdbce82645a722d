package policy

import (
	"errors"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// lists are the patterns of all rules, by what their lists say.
type lists struct {
	deny, ask, allow, rewrite []*pattern
}

// ruleReader reads one rule.
type ruleReader struct {
	*reader
	in    *Policy
	one   *rule
	to    *lists
	found map[*[]*pattern]bool // the lists that the rule has
	later []func()             // reads the patterns: what they mean depends on the rule's settings
	only  []setting            // settings that are about one list

	limitAt    *yaml.Node // the limit, if there is one
	escalateAt *yaml.Node // the escalate, if there is one
}

// setting is a key of a rule that means something beside a list only.
type setting struct {
	line int
	path string
	list *[]*pattern
	name string // of the list
}

// rule reads one item of rules.
func (r *reader) rule(n *yaml.Node, path string, in *Policy, to *lists) {
	before := len(r.Errors)
	rr := &ruleReader{reader: r, in: in, one: &rule{}, to: to, found: map[*[]*pattern]bool{}}
	r.Mapping(n, path, rr.keys(), "delegate", "scope")
	for _, read := range rr.later {
		read()
	}
	if len(r.Errors) > before {
		return
	}
	if len(rr.found) == 0 {
		r.Fail(n, path, "names no deny, ask, allow or rewrite list")
		return
	}
	rr.checkLimit(strictyaml.Join(path, "limit"))
	rr.checkEscalation(strictyaml.Join(path, "escalate"))
	for _, s := range rr.only {
		if !rr.found[s.list] && !(s.list == &to.ask && rr.asksBeyond()) {
			r.Fail(&yaml.Node{Line: s.line}, s.path, "has no effect: it is about the %s list, and the rule has none", s.name)
		}
	}
	if one := rr.one; one.denial != nil && one.limit == nil && !rr.found[&to.deny] && !rr.found[&to.ask] {
		r.Fail(n, path, "has a denial and neither a deny nor an ask list that it could be of")
	}
	if rr.found[&to.rewrite] && len(rr.one.edits) == 0 {
		r.Fail(n, path, "has a rewrite list and does not say what to change: write set or delete")
	}
}

func (r *ruleReader) keys() []strictyaml.Key {
	one := r.one
	return []strictyaml.Key{
		{Name: "deny", Read: r.patternList(&r.to.deny, false)},
		{Name: "ask", Read: r.patternList(&r.to.ask, false)},
		{Name: "allow", Read: r.patternList(&r.to.allow, true)},
		{Name: "rewrite", Read: r.patternList(&r.to.rewrite, true)},
		{Name: "set", Read: r.about(&r.to.rewrite, "rewrite", r.set)},
		{Name: "delete", Read: r.about(&r.to.rewrite, "rewrite", r.delete)},
		{Name: "match", Read: func(n *yaml.Node, path string) {
			one.wide = r.OneOf(n, path, []string{"resource", "arguments"}) == "arguments"
		}},
		{Name: "when", Read: func(n *yaml.Node, path string) { one.when = r.condition(n, path) }},
		{Name: "limit", Read: r.limit},
		{Name: "reason", Read: r.SetText(&one.reason)},
		{Name: "risk", Read: func(n *yaml.Node, path string) { one.risk = r.risk(n, path) }},
		{Name: "title", Read: r.question(func(n *yaml.Node, path string) { one.title = r.message(n, path) })},
		{Name: "denial", Read: func(n *yaml.Node, path string) { one.denial = r.message(n, path) }},
		{Name: "timeout", Read: r.question(func(n *yaml.Node, path string) { one.timeout = r.Duration(n, path) })},
		{Name: "on_timeout", Read: r.question(func(n *yaml.Node, path string) {
			if n.Value == "escalate" {
				r.Fail(n, path, "escalate is a key of its own, of what happens before the end: write escalate: {after: 5m, to: [GROUP]}, and here deny or approve")
				return
			}
			one.onTimeout = r.OneOf(n, path, []string{approvals.OnTimeoutDeny, approvals.OnTimeoutApprove})
		})},
		{Name: "reviewers", Read: r.question(func(n *yaml.Node, path string) { one.reviewers = r.names(n, path) })},
		{Name: "escalate", Read: r.question(func(n *yaml.Node, path string) {
			one.escalate, r.escalateAt = r.escalation(n, path), n
		})},
		{Name: "required_approvals", Read: r.question(func(n *yaml.Node, path string) { one.required = r.Number(n, path, 1) })},
		{Name: "remember", Read: r.question(func(n *yaml.Node, path string) { r.remember(n, path, &one.settings) })},
	}
}

// patternList notes a list of patterns, to be read when the rule's settings are known.
func (r *ruleReader) patternList(to *[]*pattern, covers bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		r.found[to] = true
		r.later = append(r.later, func() { r.patterns(n, path, r.one, r.in, covers, to) })
	}
}

// about reads a setting that means something beside a list only.
func (r *ruleReader) about(list *[]*pattern, name string, read func(*yaml.Node, string)) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		read(n, path)
		r.only = append(r.only, setting{n.Line, path, list, name})
	}
}

func (r *ruleReader) question(read func(*yaml.Node, string)) func(*yaml.Node, string) {
	return r.about(&r.to.ask, "ask", read)
}

// set reads the values that arguments get, by their paths.
func (r *ruleReader) set(n *yaml.Node, path string) {
	r.Members(n, path, func(name, value *yaml.Node, path string) {
		var v any
		if err := value.Decode(&v); err != nil {
			r.Fail(value, path, "is no value for an argument")
			return
		}
		raw, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			r.Fail(value, path, "is no value for an argument")
			return
		}
		r.edit(name, path, raw)
	})
}

// delete reads the paths of the arguments that are taken away.
func (r *ruleReader) delete(n *yaml.Node, path string) {
	r.List(n, path, "paths of arguments", func(n *yaml.Node, path string) {
		if _, ok := r.Text(n, path); ok {
			r.edit(n, path, nil)
		}
	})
}

// pathNames are what the names in the path of an argument are made of: nothing
// that means more to those who find and change values by it.
var pathNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*)*$`)

func (r *ruleReader) edit(name *yaml.Node, path string, to jsontext.Value) {
	if !pathNames.MatchString(name.Value) {
		r.Fail(name, path, "%q is not the path of an argument: write names or numbers with dots between", name.Value)
		return
	}
	e := edit{path: name.Value, set: to}
	if i := slices.IndexFunc(r.one.edits, e.contradicts); i >= 0 {
		r.Fail(name, path, "contradicts the change of %s", r.one.edits[i].path)
		return
	}
	r.one.edits = append(r.one.edits, e)
}

// message reads a template.
func (r *reader) message(n *yaml.Node, path string) *Message {
	text, ok := r.Text(n, path)
	if !ok {
		return nil
	}
	m, err := newMessage(text)
	if err != nil {
		r.Fail(n, path, "%s", err)
	}
	return m
}

// condition reads the when of a rule.
func (r *reader) condition(n *yaml.Node, path string) *condition {
	text, ok := r.Text(n, path)
	if !ok {
		return nil
	}
	c, err := newCondition(text)
	var mistake *conditionError
	switch {
	case err == nil:
		return c
	case errors.As(err, &mistake):
		at := *n
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			at.Line += mistake.line
		}
		r.Fail(&at, path, "column %d: %s", mistake.column, mistake.problem)
	default:
		r.Fail(n, path, "%s", err)
	}
	return nil
}

func (r *reader) names(n *yaml.Node, path string) []string {
	var names []string
	r.List(n, path, "reviewers", func(item *yaml.Node, path string) {
		if s, ok := r.Text(item, path); ok {
			names = append(names, s)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// remember reads true, false, or the scopes that grants may have.
func (r *reader) remember(n *yaml.Node, path string, s *settings) {
	if n.Kind != yaml.SequenceNode {
		s.lifts = r.Bool(n, path)
		s.forget = !s.lifts
		return
	}
	var known []string
	for _, scope := range approvals.GrantScopes() {
		known = append(known, string(scope))
	}
	s.lifts = true
	r.List(n, path, "scopes", func(item *yaml.Node, path string) {
		if scope := approvals.GrantScope(r.OneOf(item, path, known)); scope != "" {
			s.scopes = append(s.scopes, scope)
		}
	})
}

// patterns reads the patterns of one list of a rule.
func (r *reader) patterns(n *yaml.Node, path string, of *rule, in *Policy, allows bool, to *[]*pattern) {
	r.List(n, path, "patterns", func(item *yaml.Node, path string) {
		s, ok := r.Text(item, path)
		if !ok {
			return
		}
		p, err := newPattern(s)
		if err != nil {
			r.Fail(item, path, "%s", err)
			return
		}
		p.rule, p.line, p.where = of, item.Line, r.Place(item.Line)
		if err := p.fits(in.kindsFor(p), allows); err != nil {
			r.Fail(item, path, "%s %s", s, err)
			return
		}
		*to = append(*to, p)
	})
}
