package policylearn

import (
	"cmp"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/policyreplay"
)

// findAffected notes the open calls that a candidate concerns: the verdicts on all others stay.
func (l *Learner) findAffected(c *candidate) {
	for _, one := range l.asked {
		suggested := slices.Contains(one.verdict.Suggested, c.pattern) // known, and faster
		if one.open() && (suggested || judge.Concerns(one.policy, c.pattern, one.from, one.call)) {
			c.affects = append(c.affects, one)
		}
	}
}

// effective leaves out the candidates without which the others allow as much.
func (l *Learner) effective(all []*candidate, leave func(*candidate, string)) []*candidate {
	kept := slices.Clone(all)
	for _, c := range slices.Backward(all) { // those with the least approvals first
		others := without(kept, c)
		if passing(c.affects, kept) > passing(c.affects, others) {
			continue
		}
		kept = others
		reason := "it would have allowed none of the calls by itself"
		if rule := stillAsks(c, all); rule != "" {
			reason = "people would still be asked, by " + rule
		}
		leave(c, reason)
	}
	return kept
}

func without(all []*candidate, c *candidate) []*candidate {
	return slices.DeleteFunc(slices.Clone(all), func(other *candidate) bool { return other == c })
}

// stillAsks returns the rule that asks about the last call of a candidate whatever is allowed, "" if
// it would pass.
func stillAsks(c *candidate, all []*candidate) string {
	for _, one := range slices.Backward(c.affects) {
		v := judge.NewRules(allowing(one.policy, all)).Verdict(one.from, one.call)
		if v.Action != policy.Allow {
			return v.Rule
		}
	}
	return ""
}

// allowing returns a policy with rules for the patterns of candidates. A pattern that cannot be in
// this policy is left out, as it allows nothing there.
func allowing(p *policy.Policy, all []*candidate) *policy.Policy {
	for _, c := range all {
		if next, err := policy.Allowing(p, c.pattern); err == nil {
			p = next
		}
	}
	return p
}

// passing counts the calls that would have passed with rules for candidates.
func passing(calls []*asked, all []*candidate) int {
	n := 0
	for _, change := range replay(calls, all) {
		n += change.Calls
	}
	return n
}

// replay judges calls with rules for candidates, and returns which would have passed.
func replay(calls []*asked, all []*candidate) []*policyreplay.Change {
	replays := map[*policy.Policy]*policyreplay.Replay{}
	var order []*policyreplay.Replay
	for _, one := range calls {
		r := replays[one.policy]
		if r == nil {
			r = policyreplay.New(allowing(one.policy, all))
			replays[one.policy] = r
			order = append(order, r)
		}
		r.Take(&one.event)
	}
	var passed []*policyreplay.Change
	for _, r := range order {
		passed = append(passed, slices.DeleteFunc(r.Changes, func(c *policyreplay.Change) bool { return c.Now != policy.Allow })...)
	}
	return passed
}

// proposal returns a candidate with its evidence and its effect.
func (l *Learner) proposal(c *candidate, all []*candidate) approvals.Proposal {
	last := c.approved[len(c.approved)-1].event.Time
	p := approvals.Proposal{
		Policy: l.name, Pattern: c.pattern, Allows: approvals.AllowsOf(c.pattern), Approved: len(c.approved), Sessions: len(c.sessions), Last: last.UTC(),
		Alone: passing(c.affects, []*candidate{c}), Calls: []approvals.ProposedCall{},
	}
	passed := replay(c.affects, all)
	for _, change := range passed {
		p.Fewer += change.Calls
		p.Calls = append(p.Calls, approvals.ProposedCall{ToolName: change.Tool, Preview: change.Preview, Calls: change.Calls})
	}
	p.Fewer -= passing(c.affects, without(all, c))
	p.Line = Line(&p)
	slices.SortStableFunc(p.Calls, func(a, b approvals.ProposedCall) int { return cmp.Compare(b.Calls, a.Calls) })
	p.Calls = p.Calls[:min(len(p.Calls), approvals.MaxProposedCalls)]
	return p
}
