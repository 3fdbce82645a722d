package rule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

func (r *reader) rule(n *yaml.Node, path string, in *Set, to *lists) {
	before := len(r.Errors)
	rr := &ruleReader{reader: r, in: in, rule: &Rule{Listed: in.language == 1}, to: to, has: map[*[]*Pattern]bool{}}
	r.Mapping(n, path, rr.keys(), "delegate", "scope")
	for _, read := range rr.later {
		read()
	}
	if len(r.Errors) > before {
		return
	}
	if len(rr.has) == 0 {
		r.Fail(n, path, "names no deny, ask, allow or rewrite list")
		return
	}
	rr.checkLimit(strictyaml.Join(path, "limit"))
	rr.checkEscalation(strictyaml.Join(path, "escalate"))
	rr.checkPasskey(n, strictyaml.Join(path, "remember"))
	for _, s := range rr.only {
		if !rr.has[s.list] && !(s.list == &to.ask && rr.asksBeyond()) {
			r.Fail(&yaml.Node{Line: s.line}, s.path, "has no effect: the rule has no %s list", s.name)
		}
	}
	if one := rr.rule; one.Denial != nil && one.Limit == nil && !rr.has[&to.deny] && !rr.has[&to.ask] {
		r.Fail(n, path, "has a denial and neither a deny nor an ask list")
	}
	if rr.has[&to.rewrite] && len(rr.rule.Edits) == 0 {
		r.Fail(n, path, "has a rewrite list and no change: write set or delete")
	}
}

func (r *ruleReader) keys() []strictyaml.Key {
	rule := r.rule
	return []strictyaml.Key{
		{Name: "deny", Read: r.patternList(&r.to.deny, false)},
		{Name: "ask", Read: r.patternList(&r.to.ask, false)},
		{Name: "allow", Read: r.patternList(&r.to.allow, true)},
		{Name: "rewrite", Read: r.patternList(&r.to.rewrite, true)},
		{Name: "set", Read: r.about(&r.to.rewrite, "rewrite", r.set)},
		{Name: "delete", Read: r.about(&r.to.rewrite, "rewrite", r.delete)},
		{Name: "match", Read: func(n *yaml.Node, path string) {
			rule.MatchesArguments = r.OneOf(n, path, []string{"resource", "arguments"}) == "arguments"
		}},
		{Name: "within", Read: r.about(&r.to.allow, "allow", func(n *yaml.Node, path string) {
			where := r.OneOf(n, path, []string{"workspace", "scratch"})
			rule.Within, rule.Scratch = where != "", where == "scratch"
		})},
		{Name: "does", Read: r.about(&r.to.allow, "allow", func(n *yaml.Node, path string) { rule.Does = r.reader.readClasses(n, path) })},
		{Name: "when", Read: func(n *yaml.Node, path string) { rule.When = r.condition(n, path) }},
		{Name: "limit", Read: r.limit},
		{Name: "reason", Read: r.SetText(&rule.Reason)},
		{Name: "risk", Read: call.SetRisk(&r.Reader, &rule.Risk)},
		{Name: "title", Read: r.question(func(n *yaml.Node, path string) { rule.Title = r.message(n, path) })},
		{Name: "denial", Read: func(n *yaml.Node, path string) { rule.Denial = r.message(n, path) }},
		{Name: "hold", Read: r.question(func(n *yaml.Node, path string) {
			rule.Hold = Hold(r.OneOf(n, path, []string{string(HoldBlock), string(HoldPark)}))
		})},
		{Name: "notice", Read: r.question(func(n *yaml.Node, path string) { rule.Notice = r.message(n, path) })},
		{Name: "timeout", Read: r.question(func(n *yaml.Node, path string) { rule.Timeout = r.Duration(n, path) })},
		{Name: "on_timeout", Read: r.question(func(n *yaml.Node, path string) {
			if n.Value == "escalate" {
				r.Fail(n, path, "cannot be escalate, which is a key of its own: write escalate: {after: 5m, to: [GROUP]}, and here deny or approve")
				return
			}
			rule.OnTimeout = r.OneOf(n, path, []string{approvals.OnTimeoutDeny, approvals.OnTimeoutApprove})
		})},
		{Name: "reviewers", Read: r.question(func(n *yaml.Node, path string) { rule.Reviewers = r.names(n, path) })},
		{Name: "escalate", Read: r.question(func(n *yaml.Node, path string) {
			rule.Escalate, r.escalateAt = r.escalation(n, path), n
		})},
		{Name: "required_approvals", Read: r.question(func(n *yaml.Node, path string) { rule.Required = r.Number(n, path, 1) })},
		{Name: "confirm", Read: r.question(func(n *yaml.Node, path string) {
			how := r.OneOf(n, path, []string{"type", "passkey"})
			rule.Confirm, rule.Passkey = how == "type", how == "passkey"
		})},
		{Name: "remember", Read: r.question(func(n *yaml.Node, path string) { r.remember(n, path, &rule.Settings) })},
	}
}

// checkPasskey refuses a rule that asks for a passkey and lets grants override it.
func (r *ruleReader) checkPasskey(n *yaml.Node, path string) {
	if r.rule.Passkey && r.rule.GrantOverrides {
		r.Fail(n, path, "cannot be used with confirm: passkey: a grant would let calls pass without the passkey")
	}
}

// readClasses reads what the commands of a rule do.
func (r *reader) readClasses(n *yaml.Node, path string) []programs.Class {
	var names []string
	for _, class := range programs.Classes() {
		names = append(names, string(class))
	}
	var classes []programs.Class
	r.List(n, path, "classes", func(item *yaml.Node, path string) {
		if class := r.OneOf(item, path, names); class != "" {
			classes = append(classes, programs.Class(class))
		}
	})
	return classes
}

// patternList notes a list of patterns, to be read when the rule's settings are known.
func (r *ruleReader) patternList(to *[]*Pattern, covers bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		r.has[to] = true
		r.later = append(r.later, func() {
			r.patterns(n, path, r.rule, r.in, covers, to)
			for _, p := range slices.Concat(r.to.deny, r.to.ask) {
				p.used = p.class != nil && *p.class == call.Path
			}
		})
	}
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

// pathNames matches the path of an argument without characters that gjson and sjson treat as
// special.
var pathNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*)*$`)

func (r *ruleReader) edit(name *yaml.Node, path string, to jsontext.Value) {
	if !pathNames.MatchString(name.Value) {
		r.Fail(name, path, "%q is not the path of an argument: write names or numbers with dots between", name.Value)
		return
	}
	e := Edit{path: name.Value, set: to}
	if i := slices.IndexFunc(r.rule.Edits, e.contradicts); i >= 0 {
		r.Fail(name, path, "contradicts the change of %s", r.rule.Edits[i].path)
		return
	}
	r.rule.Edits = append(r.rule.Edits, e)
}

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

func (r *reader) condition(n *yaml.Node, path string) *Condition {
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

// remember reads true, false, or the scopes that grants may have.
func (r *reader) remember(n *yaml.Node, path string, s *Settings) {
	if n.Kind != yaml.SequenceNode {
		s.GrantOverrides = r.Bool(n, path)
		s.NoRemember = !s.GrantOverrides
		return
	}
	var known []string
	for _, scope := range approvals.GrantScopes() {
		known = append(known, string(scope))
	}
	s.GrantOverrides = true
	r.List(n, path, "scopes", func(item *yaml.Node, path string) {
		if scope := approvals.GrantScope(r.OneOf(item, path, known)); scope != "" {
			s.Scopes = append(s.Scopes, scope)
		}
	})
}

func (r *reader) patterns(n *yaml.Node, path string, of *Rule, in *Set, allows bool, to *[]*Pattern) {
	r.List(n, path, "patterns", func(item *yaml.Node, path string) {
		text, ok := r.Text(item, path)
		if !ok {
			return
		}
		texts, err := patternsOf(text)
		if err != nil {
			r.Fail(item, path, "%s %s", text, err)
			return
		}
		for _, each := range texts {
			p, err := NewPattern(each)
			if err != nil {
				r.Fail(item, path, "%s", err)
				return
			}
			p.Rule, p.Line, p.Column, p.Where, p.Extended = of, item.Line, item.Column, r.Place(item.Line), r.IsExtended(item.Line)
			p.oneServer = allows && each != text && strings.HasPrefix(text, "mcp__")
			if len(texts) > 1 {
				p.Short = text
			}
			if err := p.Fits(in.KindsFor(p), allows); err != nil {
				r.Fail(item, path, "%s %s", text, err)
				return
			}
			*to = append(*to, p)
		}
	})
}

// patternsOf returns the patterns that a text is short for: path(@hook) for one of each of the files of a class
// that run later, an MCP server, such as mcp__github, for itself and all of its tools, any other text for itself.
func patternsOf(text string) ([]string, error) {
	name, argument, hasArgument := strings.Cut(text, "(")
	if server, ok := strings.CutPrefix(name, "mcp__"); ok && server != "" && !strings.Contains(server, "__") && !strings.HasSuffix(server, "_") && !strings.Contains(server, "*") {
		all := name + "__*"
		if hasArgument {
			all += "(" + argument
		}
		return []string{text, all}, nil
	}
	of, closed := strings.CutSuffix(argument, ")")
	of, isClass := strings.CutPrefix(of, "@")
	if name != "path" || !closed || !isClass || strings.ContainsAny(of, "/*") {
		return []string{text}, nil
	}
	var names []string
	for _, class := range call.RunLater() {
		if class.Name == of {
			return class.Patterns(), nil
		}
		names = append(names, "path(@"+class.Name+")")
	}
	return nil, fmt.Errorf("names no class of files: write %s", strictyaml.Either(names))
}
