package judge

import (
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/wrapped"
)

// Judging returns the policy by which a source judges the calls of a principal, without grants. It is
// nil if the policies of other sources judge them.
func (j *Judge) Judging(s *Source, who approvals.Principal) *policy.Policy {
	own := slices.ContainsFunc(j.clients, func(c ClientPolicy) bool { return c.Principal == who })
	bySource := slices.ContainsFunc(j.clients, func(c ClientPolicy) bool { return c.Principal == who && c.source == s })
	if bySource || (!own && s == j.main) {
		return j.ofSource(s, who)[0]
	}
	return nil
}

// Concerns reports whether a pattern matches a recorded call, or a call that it wraps, or covers a
// part of it.
func Concerns(p *policy.Policy, pattern string, from Origin, c intercept.Call) bool {
	inner, _ := wrapped.Calls(c)
	return slices.ContainsFunc(append(inner, c), func(one intercept.Call) bool { return policy.Concerns(p, pattern, from.call(one)) })
}
