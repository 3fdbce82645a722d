package policy

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// rewritten applies the rewrite rules to an allowed or asked call. Deny rules judge the result.
func (q *question) rewritten(v Verdict) Verdict {
	if v.Action == Deny || !q.e.policy.rules.Rewrite.AnyFor(q.c.Call.Tool, q.c.Kind) {
		return v
	}
	c := q.e.change()
	if c.Problem != "" {
		return q.notRewritten(v, &c)
	}
	if c.Text == "" {
		return v
	}
	call := q.c.Call
	call.Arguments = c.Text
	then := newQuestion(q.e.again(call))
	switch {
	case then.denied.match == match.Yes:
		return then.deny(then.denied.pattern)
	case v.Action == Allow && then.denied.match == match.Maybe:
		v = then.ask(rule.Basis{Rule: v.Rule, Risk: v.Risk, Reason: "The call would be allowed, but after a rewrite rule has changed it a deny rule may match it."})
	}
	v.Arguments, v.RewrittenBy = c.Text, c.Where()
	v.Resource, v.Preview = then.c.Text, then.c.Preview()
	if v.Action == Ask {
		v.Commands = firstOf(then.c.ShownCommands())
		v.Effects, _ = then.e.effects()
		v.Flags = append(v.Flags, fmt.Sprintf("The rewrite rule at %s has changed the arguments.", v.RewrittenBy))
	}
	return v
}

// notRewritten returns the verdict on a call that matching rewrite rules cannot change.
func (q *question) notRewritten(v Verdict, c *rule.Change) Verdict {
	why := fmt.Sprintf("The rewrite rule at %s covers this call, which %s.", c.Where(), c.Problem)
	if v.Action == Allow {
		undenied := &question{e: q.e, c: q.c}
		return undenied.ask(rule.Basis{Rule: c.Patterns[0].Where, Risk: v.Risk, Reason: why})
	}
	v.Flags = append(v.Flags, why)
	return v
}

func (e *evaluation) change() rule.Change {
	var c rule.Change
	for p := range e.policy.rules.Rewrite.Candidates(e.c.Call.Tool, e.c.Kind, e.c.Keys.Texts, e.c.Keys.Any) {
		if slices.ContainsFunc(c.Patterns, func(q *rule.Pattern) bool { return q.Rule == p.Rule }) {
			continue
		}
		if e.coveredBy(p) && e.allows(p) {
			c.Patterns = append(c.Patterns, p)
		}
	}
	if len(c.Patterns) == 0 {
		return c
	}
	slices.SortFunc(c.Patterns, func(a, b *rule.Pattern) int { return a.Rank - b.Rank })
	switch {
	case e.c.Call.FreeText:
		c.Problem = "takes free text and has no fields"
	case e.c.Call.Fixed:
		c.Problem = "the provider runs, so its arguments cannot be changed"
	default:
		c.Apply(e.c.Call.Arguments)
	}
	return c
}

func (e *evaluation) coveredBy(p *rule.Pattern) bool {
	_, ok := e.findCovering(e.whole, e.policy.rules.Rewrite.OfRule(p.Rule))
	return ok
}
