package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/resource"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// AllowsByName reports whether every call of a tool with strict arguments is allowed, and returns
// that verdict. Such a call streams, so [Policy.Judge] ignores numbers that programs read
// differently. It is false if a deny, ask or rewrite rule, a grant that denies, or a limited allow
// rule has a pattern for the tool. A default or risk allows no tool for shell scripts or files by
// name, as these may access secrets, and no tool that only its built-in profile allows. Of the call
// the principal, the tool and its offer count.
func (p *Policy) AllowsByName(c Call) (Verdict, bool) {
	tool := p.rules.Known.Tool(c.Tool)
	by, ok := p.byName(&c, tool)
	if !ok {
		return Verdict{}, false
	}
	return Verdict{Action: by.Action, Rule: by.Rule, Reason: by.Reason, Risk: tool.RiskOr(by.Risk), Grants: by.Grants}, true
}

func (p *Policy) byName(c *Call, t *resource.Tool) (rule.Basis, bool) {
	principal, name, k := c.Principal, c.Tool, resource.Plain
	if t != nil {
		k = t.Kind
	}
	r := p.rules
	if c.Unoffered != "" || p.strictByOtherName(c) {
		return rule.Basis{}, false
	}
	if resource.NameDoubt(name) != "" || r.Compares(name, k) || r.Rewrite.AnyFor(name, k) || r.Limited.Allow.AnyFor(name, k) || p.grants.mayDeny(principal, name, k) {
		return rule.Basis{}, false
	}
	if found := r.Allow.First(name, k, nil, (*rule.Pattern).Unconditional); found != nil {
		return found.Basis(Allow), true
	}
	by := r.ByDefault(name, k, t)
	secrets := k == resource.Path || k == resource.Shell
	return by, by.Action == Allow && !by.Builtin && !secrets && !(by.Rated && t.Typed)
}

// parseRules are the rules of a policy that parsing a call depends on.
type parseRules struct{ p *Policy }

// Compares reports whether a deny or ask rule is for the tool.
func (r parseRules) Compares(tool string, k resource.Kind) bool { return r.p.rules.Compares(tool, k) }

// PassesByName reports whether every call of the tool is allowed.
func (r parseRules) PassesByName(c *Call) bool {
	_, ok := r.p.byName(c, r.p.rules.Known.Tool(c.Tool))
	return ok
}
