package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"go.yaml.in/yaml/v3"
)

func (r *reader) rule(n *yaml.Node, path string, p *Policy, deny, ask, allow *[]*pattern) {
	before := len(r.errors)
	one := &rule{}
	found := 0
	asks := false
	var askOnly []*yaml.Node // settings of a question, and their names
	var lists []func()       // read last: what they mean depends on the rule's settings
	list := func(to *[]*pattern, allows bool) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) {
			found++
			asks = asks || to == ask
			lists = append(lists, func() { r.patterns(n, path, one, p, allows, to) })
		}
	}
	question := func(read func(*yaml.Node, string)) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) {
			read(n, path)
			askOnly = append(askOnly, &yaml.Node{Line: n.Line, Value: path})
		}
	}
	r.mapping(n, path, []key{
		{"deny", list(deny, false)},
		{"ask", list(ask, false)},
		{"allow", list(allow, true)},
		{"match", func(n *yaml.Node, path string) {
			one.wide = r.oneOf(n, path, []string{"resource", "arguments"}) == "arguments"
		}},
		{"when", func(n *yaml.Node, path string) { one.when = r.condition(n, path) }},
		{"reason", func(n *yaml.Node, path string) { one.reason, _ = r.text(n, path) }},
		{"risk", func(n *yaml.Node, path string) { one.risk = r.risk(n, path) }},
		{"timeout", question(func(n *yaml.Node, path string) { one.timeout = r.duration(n, path) })},
		{"on_timeout", question(func(n *yaml.Node, path string) {
			one.onTimeout = r.oneOf(n, path, []string{approvals.OnTimeoutDeny, approvals.OnTimeoutApprove}, "escalate")
		})},
		{"reviewers", question(func(n *yaml.Node, path string) { one.reviewers = r.names(n, path) })},
		{"required_approvals", question(func(n *yaml.Node, path string) { one.required = r.number(n, path, 1) })},
		{"remember", question(func(n *yaml.Node, path string) { one.forget = !r.yesNo(n, path) })},
	}, []string{"rewrite", "set", "delete", "limit", "title", "denial", "escalate", "delegate", "scope"})
	for _, read := range lists {
		read()
	}
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

// condition reads the when of a rule.
func (r *reader) condition(n *yaml.Node, path string) *condition {
	text, ok := r.text(n, path)
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
		r.fail(&at, path, "column %d: %s", mistake.column, mistake.problem)
	default:
		r.fail(n, path, "%s", err)
	}
	return nil
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
func (r *reader) patterns(n *yaml.Node, path string, of *rule, in *Policy, allows bool, to *[]*pattern) {
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
		p.rule, p.line, p.where = of, item.Line, fmt.Sprintf("%s:%d", r.base, item.Line)
		if err := p.fits(in.kindsFor(p.tool), allows); err != nil {
			r.fail(item, path, "%s %s", s, err)
			return
		}
		*to = append(*to, p)
	})
}
