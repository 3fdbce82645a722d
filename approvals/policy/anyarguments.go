package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// allowsAny reports whether a tool is allowed whatever its arguments, and by what: then numbers that
// programs read differently are in no doubt. It is not if a deny, ask or rewrite rule, a grant that
// denies, or a limited allow rule has a pattern for the tool. A default or risk allows no tool for
// shell scripts or files whatever its arguments, as these may access secrets, and no tool that only
// its built-in profile allows. Of the call the principal, the tool and its offer count.
func (p *Policy) allowsAny(c *Call) (rule.Basis, bool) {
	t := p.rules.Known.Tool(c.Tool)
	principal, name, k := c.Principal, c.Tool, call.Plain
	if t != nil {
		k = t.Kind
	}
	r := p.rules
	if c.Unoffered != "" || p.strictByOtherName(c) {
		return rule.Basis{}, false
	}
	if call.NameDoubt(name) != "" || r.Compares(name, k) || r.Rewrite.AnyFor(name, k) || r.Limited.Allow.AnyFor(name, k) || p.grants.mayDeny(principal, name, k) {
		return rule.Basis{}, false
	}
	if found := r.Allow.First(name, k, nil, (*rule.Pattern).Unconditional); found != nil {
		return found.Basis(Allow), true
	}
	by := r.ByDefault(name, k, t)
	secrets := k == call.Path || k == call.Shell
	return by, by.Action == Allow && !by.Builtin && !secrets && !(by.Rated && t.Typed)
}

// parseRules are the rules of a policy that parsing a call depends on.
type parseRules struct{ p *Policy }

// Compares reports whether a deny or ask rule is for the tool.
func (r parseRules) Compares(tool string, k call.Kind) bool { return r.p.rules.Compares(tool, k) }

// Patterns returns how many patterns of the policy deny or ask.
func (r parseRules) Patterns() int { return len(r.p.rules.Deny.All) + len(r.p.rules.Ask.All) }

// AllowsAny reports whether the tool is allowed whatever its arguments.
func (r parseRules) AllowsAny(c *Call) bool {
	_, ok := r.p.allowsAny(c)
	return ok
}
