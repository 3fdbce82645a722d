package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// edit is one change that a rewrite rule makes to arguments.
type edit struct {
	path string         // as sjson writes it
	set  jsontext.Value // nil: the value is deleted
}

// change is what the rewrite rules that cover a call make of it.
type change struct {
	patterns []*pattern // those that cover it, the first of each rule
	text     string     // the new arguments; "" if they stay as they are
	problem  string     // why they cannot be applied, or ""
}

// rewritten is the verdict with what the rewrite rules make of the call. Deny
// rules judge the changed call too.
func (s *subject) rewritten(v Verdict) Verdict {
	if v.Action == Deny || !s.policy.rewrite.anyFor(s.call.Tool, s.kind) {
		return v
	}
	c := s.change()
	if c.problem != "" {
		return s.notRewritten(v, &c)
	}
	if c.text == "" {
		return v
	}
	call := s.call
	call.Arguments = c.text
	then := s.policy.newSubject(call)
	denied := then.findDeny()
	switch {
	case denied.match == match.Yes:
		return then.deny(denied.pattern)
	case v.Action == Allow && denied.match == match.Maybe:
		v = then.question(ground{rule: v.Rule, risk: v.Risk, reason: "The call as a rule changes it would be allowed, but a rule that denies may match it."}, denied)
	}
	v.Arguments, v.RewrittenBy = c.text, c.where()
	v.Resource, v.Preview = then.text, then.preview()
	if v.Action == Ask {
		v.Commands = firstOf(then.shownCommands())
		v.Flags = append(v.Flags, fmt.Sprintf("The rule at %s has changed the arguments.", v.RewrittenBy))
	}
	return v
}

// notRewritten is the verdict on a call that a rewrite rule covers and cannot
// change.
func (s *subject) notRewritten(v Verdict, c *change) Verdict {
	why := fmt.Sprintf("A rule that changes arguments (%s) covers this call, which %s.", c.where(), c.problem)
	if v.Action == Allow {
		return s.question(ground{rule: c.patterns[0].where, risk: v.Risk, reason: why}, finding{})
	}
	v.Flags = append(v.Flags, why)
	return v
}

// where names the rules.
func (c *change) where() string {
	var all []string
	for _, p := range c.patterns {
		if !slices.Contains(all, p.where) {
			all = append(all, p.where)
		}
	}
	return strings.Join(all, ", ")
}

// change applies the rewrite rules that cover the call.
func (s *subject) change() change {
	var c change
	for p := range s.policy.rewrite.candidates(s.call.Tool, s.kind, s.keys, s.every) {
		if slices.ContainsFunc(c.patterns, func(q *pattern) bool { return q.rule == p.rule }) {
			continue
		}
		if s.coveredBy(p) && s.allows(p) {
			c.patterns = append(c.patterns, p)
		}
	}
	if len(c.patterns) == 0 {
		return c
	}
	slices.SortFunc(c.patterns, func(a, b *pattern) int { return a.rank - b.rank })
	switch {
	case s.call.FreeText:
		c.problem = "takes free text, which has no fields"
	case s.call.Fixed:
		c.problem = "is run by the provider, so that its arguments cannot be changed"
	default:
		c.apply(s.call.Arguments)
	}
	return c
}

// coveredBy reports whether the patterns of a rewrite rule cover the call.
func (s *subject) coveredBy(p *pattern) bool {
	var own []*pattern
	for _, q := range s.policy.rewrite.all {
		if q.rule == p.rule {
			own = append(own, q)
		}
	}
	_, ok := s.findAllow(&index{globs: &shelf{all: own, keysOf: (*pattern).allowKeys}})
	return ok
}

// apply makes the changes one after another.
func (c *change) apply(arguments string) {
	before := []byte(match.OrEmptyObject(arguments))
	text := before
	var done []edit
	for _, p := range c.patterns {
		for _, e := range p.rule.edits {
			if i := slices.IndexFunc(done, e.contradicts); i >= 0 {
				c.problem = fmt.Sprintf("is changed in two ways by rewrite rules, at %s and %s", done[i].path, e.path)
				return
			}
			done = append(done, e)
			var err error
			if text, err = e.apply(text); err != nil {
				c.problem = fmt.Sprintf("has arguments that the rule at %s cannot change", p.where)
				return
			}
		}
	}
	if doubts := match.CheckArguments(string(text)); len(doubts) > 0 {
		c.problem = "would have arguments that are not strict after it is changed"
		return
	}
	if !bytes.Equal(text, before) {
		c.text = string(text)
	}
}

// contradicts reports whether two changes touch the same value and differ.
func (e edit) contradicts(other edit) bool {
	if e.path == other.path {
		return !bytes.Equal(e.set, other.set)
	}
	return strings.HasPrefix(e.path, other.path+".") || strings.HasPrefix(other.path, e.path+".")
}

// apply changes strict arguments; a value that is there already stays as it is
// written.
func (e edit) apply(text []byte) ([]byte, error) {
	found := gjson.GetBytes(text, e.path)
	if e.set == nil {
		if !found.Exists() {
			return text, nil
		}
		return sjson.DeleteBytes(slices.Clone(text), e.path)
	}
	if found.Exists() && canonicalValue(found.Raw) == canonicalValue(string(e.set)) {
		return text, nil
	}
	return sjson.SetRawBytes(slices.Clone(text), e.path, e.set)
}

func canonicalValue(text string) string {
	v := jsontext.Value(text)
	if err := v.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return text
	}
	return string(v)
}
