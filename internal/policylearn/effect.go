package policylearn

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// findAffected notes which open calls candidates concern: the verdicts on all others stay.
func (l *Learner) findAffected(all []*candidate) {
	for _, request := range l.asked {
		if !request.open() {
			continue
		}
		parsed := judge.Parsed(request.policy, request.from, request.call)
		request.by, request.verdicts = concerning(parsed, all), map[string]policy.Verdict{}
		var proposals []*policy.Proposal
		for _, c := range request.by {
			proposals = append(proposals, c.proposal)
			c.affects = append(c.affects, request)
		}
		request.coverage = parsed[0].Coverage(proposals) // an open call wraps no other
	}
}

// verdictWith returns the verdict on a call with rules for candidates, by judging it again with those on
// which that depends.
func (a *asked) verdictWith(all []*candidate) policy.Verdict {
	used, covered := a.coverage.With(func(i int) bool { return slices.Contains(all, a.by[i]) })
	if !covered {
		return a.verdict
	}
	key := fmt.Sprint(used)
	v, known := a.verdicts[key]
	if !known {
		var rules []*candidate
		for _, i := range used {
			rules = append(rules, a.by[i])
		}
		v = judge.NewRules(allowing(a.policy, rules)).Verdict(a.from, a.call)
		a.verdicts[key] = v
	}
	return v
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
		if rule := c.stillAsks(all); rule != "" {
			reason = "people would still be asked, by " + rule
		}
		leave(c, reason)
	}
	return kept
}

func without(all []*candidate, c *candidate) []*candidate {
	return slices.DeleteFunc(slices.Clone(all), func(other *candidate) bool { return other == c })
}

// stillAsks returns the rule that asks about the last call of the candidate whatever is allowed, "" if
// it would pass.
func (c *candidate) stillAsks(all []*candidate) string {
	for _, request := range slices.Backward(c.affects) {
		if v := request.verdictWith(all); v.Action != policy.Allow {
			return v.Rule
		}
	}
	return ""
}

// allowing returns a policy with rules for the patterns of candidates. A pattern that cannot be in
// this policy is left out, as it allows nothing there.
func allowing(p *policy.Policy, all []*candidate) *policy.Policy {
	for _, c := range all {
		if next, err := p.Allowing(c.pattern); err == nil {
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
func replay(calls []*asked, all []*candidate) []*Change {
	replays := map[*policy.Policy]*Replay{}
	var order []*Replay
	for _, request := range calls {
		r := replays[request.policy]
		if r == nil {
			r = NewReplay(request.policy)
			replays[request.policy] = r
			order = append(order, r)
		}
		r.takeBy(&request.event, func(judge.Origin, intercept.Call) policy.Verdict { return request.verdictWith(all) })
	}
	var passed []*Change
	for _, r := range order {
		passed = append(passed, slices.DeleteFunc(r.Changes, func(c *Change) bool { return c.Now != policy.Allow })...)
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
