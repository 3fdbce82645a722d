package policy

import (
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// ruleSet is a policy as it is read: its rules, and what is known of tools. It is
// immutable and safe for concurrent use.
type ruleSet struct {
	fallback  Action // where nothing else decides
	ambiguous ground // of calls with more than one reading
	known     Known
	deny      *index
	ask       *index
	allow     *index
	rewrite   *index
	limited   limited
	hosted    hosted
}

// EmptySet returns the rules where there is no file: people are asked about everything.
func EmptySet() *ruleSet {
	return &ruleSet{
		fallback: Ask, deny: newIndex(nil), ask: newIndex(nil), allow: newIndex(nil), rewrite: newIndex(nil),
		known:  Known{Profiles: KnownProfiles().without(), Programs: shell.KnownPrograms()},
		hosted: hosted{rule: "default"},
	}
}

// Compares reports whether a deny or ask rule is for a tool with a resource of a kind.
func (p *ruleSet) Compares(tool string, k kind) bool {
	return p.deny.anyFor(tool, k) || p.ask.anyFor(tool, k)
}

// kindsFor are the kinds of the resources of the tools that a pattern may mean.
func (p *ruleSet) kindsFor(of *pattern) []kind {
	if of.shells {
		return []kind{asShell}
	}
	var found []kind
	names := of.tool
	if names.Literal() {
		if t := p.known.Tool(names.Prefix()); t != nil {
			found = append(found, t.kind)
		}
		return found
	}
	for _, t := range p.known.Tools {
		if names.Meets(t.names) && !slices.Contains(found, t.kind) {
			found = append(found, t.kind)
		}
	}
	return found
}

// byDefault returns the basis for a tool's calls that no rule covers. The risk of a
// built-in profile decides only of tools that the policy says nothing of, and only
// where the policy has no default. Where there is no policy it counts for nothing.
func (p *ruleSet) byDefault(name string, k kind, t *tool) ground {
	by := ground{action: p.fallback, rule: "default", reason: defaultReason(p.fallback)}
	switch {
	case t == nil:
	case t.fallback != "":
		by = ground{action: t.fallback, rule: t.where, risk: t.risk, reason: t.reason()}
	case t.risk == "", t.builtin && (!p.known.Profiles.risks || t.own || p.allow.anyFor(name, k)):
		by.risk = t.risk
	default:
		by = ground{action: Ask, rule: t.where, risk: t.risk, reason: t.riskReason(), builtin: t.builtin, rated: true}
		if t.risk == approvals.RiskLow {
			by.action = Allow
		}
	}
	return by
}

func defaultReason(a Action) string {
	switch a {
	case Allow:
		return "No rule covers this call, and the policy allows what none covers."
	case Deny:
		return "No rule covers this call, and the policy denies what none covers."
	default:
		return "No rule covers this call, and the policy asks about what none covers."
	}
}
