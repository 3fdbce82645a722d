package policy

import (
	"cmp"

	"github.com/heldcall/heldcall/approvals"
)

// AllowsByName reports whether every call of a tool is allowed, whatever its
// arguments as long as they are strictly valid, and by what. Such a call passes
// while it streams, so numbers that programs read differently do not matter to
// [Policy.Judge] either. It is false where any deny, ask or rewrite rule, a grant
// that denies, or an allow rule with a limit has a pattern for the tool. A default
// or a risk allows no tool by name that runs shell scripts or works on files, as
// these may hold secrets, and none that only its built-in profile lets pass.
func (p *Policy) AllowsByName(principal approvals.Principal, name string) (Verdict, bool) {
	tool := p.rules.known.Tool(name)
	by, ok := p.byName(principal, name, tool)
	if !ok {
		return Verdict{}, false
	}
	risk := by.risk
	if tool != nil {
		risk = cmp.Or(risk, tool.risk)
	}
	return Verdict{Action: by.action, Rule: by.rule, Reason: by.reason, Risk: cmp.Or(risk, approvals.RiskMedium), Grants: by.grants}, true
}

// byName returns the basis on which every call of a tool is allowed: see
// [Policy.AllowsByName].
func (p *Policy) byName(principal approvals.Principal, name string, t *tool) (ground, bool) {
	k := asPlain
	if t != nil {
		k = t.kind
	}
	r := p.rules
	if NameDoubt(name) != "" || r.Compares(name, k) || r.rewrite.anyFor(name, k) || r.limited.allow.anyFor(name, k) || p.grants.mayDeny(principal, name, k) {
		return ground{}, false
	}
	always := func(p *pattern) bool { return p.any && p.rule.when == nil }
	if found := r.allow.first(name, k, nil, always); found != nil {
		return found.ground(Allow), true
	}
	by := r.byDefault(name, k, t)
	secrets := k == asPath || k == asShell
	return by, by.action == Allow && !by.builtin && !secrets && !(by.rated && t.typed)
}

// parseRules are the rules of a policy that parsing a call depends on.
type parseRules struct{ p *Policy }

// Compares reports whether a deny or ask rule is for the tool.
func (r parseRules) Compares(tool string, k kind) bool { return r.p.rules.Compares(tool, k) }

// PassesByName reports whether every call of the tool is allowed.
func (r parseRules) PassesByName(c *Call) bool {
	_, ok := r.p.byName(c.Principal, c.Tool, r.p.rules.known.Tool(c.Tool))
	return ok
}
