package policy

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Agents run the tool that a wrong name most likely means, so a call whose tool is not known to be offered by
// this very name is judged under other names too: deny and ask rules hold under each of them, nothing is allowed
// by one.

// maxNames bounds the other names of one call.
const maxNames = 50

// otherNames returns the names for which agents may take that of the call's tool: those of offered tools, and those
// in rules that deny or ask. If the tool is not known, the names of known tools tell how its arguments are read.
func (e *evaluation) otherNames() []string {
	c := &e.c.Call
	if c.Offered || c.Tool == "" {
		return nil
	}
	rules, name := e.policy.rules, rule.NewMeantName(c.Tool, c.InToolset)
	names := slices.Concat(c.Near, rules.Deny.Meant(name), rules.Ask.Meant(name))
	for _, set := range e.granted {
		names = append(names, set.deny.Meant(name)...)
	}
	if !e.named() {
		names = append(names, rules.Known.Meant(name.Keys())...)
	}
	var all []string
	for _, other := range names {
		if other != c.Tool && !slices.Contains(all, other) && len(all) < maxNames {
			all = append(all, other)
		}
	}
	return all
}

// named reports whether the tool is known by this very name.
func (e *evaluation) named() bool { return e.c.Tool != nil && e.c.Tool.Names.Literal() }

// as returns the evaluation of the call under another name. The arguments of a known tool that may be offered are
// read as those of that tool.
func (e *evaluation) as(name string) *evaluation {
	if e.named() && e.c.Call.Unoffered == "" {
		return &evaluation{policy: e.policy, c: e.c.As(name), granted: e.granted}
	}
	call := e.c.Call
	call.Tool, call.Unoffered = name, ""
	return e.again(call)
}

// underOtherNames makes a verdict as strict as deny and ask rules are under the other names of the call's tool.
func (e *evaluation) underOtherNames(v Verdict) Verdict {
	if v.Action == Deny {
		return v
	}
	for _, name := range e.otherNames() {
		q := newQuestion(e.as(name))
		if w, ok := q.judgeStrictly(e.c.Call.Unoffered != ""); ok {
			w.Flags = append(w.Flags, fmt.Sprintf("It is judged as %s too, which agents may run in place of %s.", match.Visible(name), match.Visible(e.c.Call.Tool)))
			w.Arguments, w.RewrittenBy, w.Unoffered = v.Arguments, v.RewrittenBy, v.Unoffered
			v = Together(v, w)
			v.ByDefault = false
		}
		v = (&question{e: e, c: e.c}).unlessExhausted(v)
		if v.Action == Deny {
			return v
		}
	}
	return v
}

// judgeStrictly returns the verdict of the rules that deny or ask, if any does. For a call that is not offered the
// entry of the tool may deny it too.
func (q *question) judgeStrictly(unoffered bool) (v Verdict, ok bool) {
	rules := q.e.policy.rules
	asks := q.e.findAsks(rules.Ask)
	by := rules.ByDefault(q.c.Call.Tool, q.c.Kind, q.c.Tool)
	switch {
	case q.denied.match == match.Yes:
		return q.deny(q.denied.pattern), true
	case len(asks) > 0:
		v = q.askMatching(asks)
	case q.denied.match == match.Maybe:
		v = q.ask(rule.Basis{Rule: q.denied.pattern.Where, Reason: q.e.mayBe(q.denied.pattern)})
	case unoffered && q.c.Tool != nil && q.c.Tool.Fallback == Deny && by.Action == Deny:
		return q.verdict(by), true
	default:
		return v, false
	}
	v.AllowRemember, v.Suggested = false, nil // a grant is for the name as it is written
	v.Limits = q.e.limits(&v)
	return v, true
}

// strictByOtherName reports whether a deny or ask rule, or a grant that denies, is for another name of a tool.
func (p *Policy) strictByOtherName(c *Call) bool {
	e := &evaluation{policy: p, c: &call.Reading{Call: *c, Tool: p.rules.Known.Tool(c.Tool)}, granted: p.grants.of(c.Principal, c.Session)}
	return slices.ContainsFunc(e.otherNames(), func(name string) bool {
		k := call.Plain
		if t := p.rules.Known.Tool(name); t != nil {
			k = t.Kind
		}
		return p.rules.Compares(name, k) || p.grants.mayDeny(c.Principal, name, k)
	})
}
