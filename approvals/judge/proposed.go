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
	clients, main := j.roster.Load().clients, j.main.options.Principals
	own := slices.ContainsFunc(clients, func(c ClientPolicy) bool { return c.Principal == who })
	bySource := slices.ContainsFunc(clients, func(c ClientPolicy) bool { return c.Principal == who && c.source == s })
	ofMain := main == nil || slices.Contains(main, who) // false for an agent that has left
	if bySource || (!own && ofMain && s == j.main) {
		return j.ofSource(s, who)[0]
	}
	return nil
}

// Parsed returns a recorded call as a policy reads it, and the calls that it wraps.
func Parsed(p *policy.Policy, from Origin, c intercept.Call) []*policy.Parsed {
	var all []*policy.Parsed
	for _, one := range append(wrapped.Read(c, from.Offer).Calls, c) {
		all = append(all, p.ParseCall(from.call(one)))
	}
	return all
}
