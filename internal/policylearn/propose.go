package policylearn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/humanize"
)

// maxCandidates is how many patterns are compared with all calls: those with the most approvals.
const maxCandidates = 200

// Proposals returns what the decisions suggest.
func (l *Learner) Proposals() approvals.Proposals {
	all := approvals.Proposals{Items: []approvals.Proposal{}, LeftOut: []approvals.LeftOut{}, Narrow: l.narrowed()}
	for _, request := range l.asked {
		if request.open() {
			all.Of++
		}
	}
	leave := func(c *candidate, reason string) {
		all.LeftOut = append(all.LeftOut, approvals.LeftOut{Policy: l.name, Pattern: c.pattern, Reason: reason})
	}
	var kept []*candidate
	candidates := l.candidates()
	against := l.reasonsAgainst(candidates)
	for i, c := range candidates {
		reason := against[c]
		if reason == "" && i >= maxCandidates {
			reason = fmt.Sprintf("only the %d patterns with the most approvals are compared", maxCandidates)
		}
		if reason != "" {
			leave(c, reason)
			continue
		}
		kept = append(kept, c)
	}
	kept = narrowest(kept, leave)
	l.findAffected(kept)
	kept = l.effective(kept, leave)
	for _, c := range kept {
		all.Items = append(all.Items, l.proposal(c, kept))
	}
	slices.SortStableFunc(all.Items, func(a, b approvals.Proposal) int {
		return cmp.Or(cmp.Compare(b.Fewer, a.Fewer), cmp.Compare(b.Approved, a.Approved), cmp.Compare(a.Pattern, b.Pattern))
	})
	slices.SortStableFunc(all.LeftOut, func(a, b approvals.LeftOut) int { return cmp.Compare(a.Pattern, b.Pattern) })
	return all
}

// candidates returns the patterns that the policy suggests for approved calls, those with the most
// approvals first.
func (l *Learner) candidates() []*candidate {
	var all []*candidate
	known := map[string]*candidate{}
	for _, request := range l.asked {
		if !request.supports() {
			continue
		}
		for _, pattern := range request.verdict.Suggested {
			c := known[pattern]
			if c == nil {
				c = &candidate{pattern: pattern, sessions: map[session]bool{}}
				c.proposal, _ = policy.NewProposal(pattern) // one that is not valid concerns no call
				known[pattern] = c
				all = append(all, c)
			}
			c.approved = append(c.approved, request)
			c.sessions[request.session()] = true
		}
	}
	for pattern, requests := range l.valuePatterns() {
		if known[pattern] == nil {
			c := &candidate{pattern: pattern, approved: requests, sessions: sessionsOf(requests)}
			c.proposal, _ = policy.NewProposal(pattern)
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(len(b.approved), len(a.approved)), cmp.Compare(a.pattern, b.pattern))
	})
	return all
}

// reasonsAgainst returns why candidates are not proposed, nothing for one that nothing is against.
func (l *Learner) reasonsAgainst(all []*candidate) map[*candidate]string {
	reasons := map[*candidate]string{}
	var open []*candidate
	for _, c := range all {
		if len(c.approved) < l.query.Approved || len(c.sessions) < l.query.Sessions {
			reasons[c] = fmt.Sprintf("approved %s in %s; a proposal needs %d in %d", times(len(c.approved)), humanize.Count(len(c.sessions), "session"), l.query.Approved, l.query.Sessions)
			continue
		}
		open = append(open, c)
	}
	for _, request := range l.asked {
		reason := ""
		switch {
		case request.against != "":
			reason = fmt.Sprintf("a call that it matches %s on %s: %s", request.against, day(request.event.Time), request.verdict.Preview)
		case request.verdict.Risk == approvals.RiskCritical:
			reason = "it matches a call of critical risk: " + request.verdict.Preview
		default:
			continue
		}
		for _, c := range concerning(judge.Parsed(request.policy, request.from, request.call), open) {
			if reasons[c] == "" {
				reasons[c] = reason
			}
		}
	}
	return reasons
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// narrowest leaves out a pattern where a narrower one has the same approvals, and one where a wider
// one has more.
func narrowest(all []*candidate, leave func(*candidate, string)) []*candidate {
	better := func(list []*candidate, c *candidate, is func(other *candidate) bool) bool {
		i := slices.IndexFunc(list, func(other *candidate) bool { return other != c && is(other) })
		if i >= 0 {
			leave(c, list[i].pattern+" is proposed in its place")
		}
		return i >= 0
	}
	var kept, final []*candidate
	for _, c := range all {
		if !better(all, c, func(other *candidate) bool {
			return other.within(c) && len(other.approved) == len(c.approved)
		}) {
			kept = append(kept, c)
		}
	}
	for _, c := range kept {
		if !better(kept, c, func(other *candidate) bool {
			return c.within(other) && len(other.approved) > len(c.approved)
		}) {
			final = append(final, c)
		}
	}
	return final
}

// within reports whether a candidate is narrower than another. Suggestions are written so that the wider one is, up to its
// first *, a beginning of the narrower one; in front of a folder is a colon in place of a space.
func (c *candidate) within(wide *candidate) bool {
	begin, _, open := strings.Cut(wide.pattern, "*")
	if command, _, isFolder := strings.Cut(begin, ":./"); isFolder && !strings.HasPrefix(c.pattern, begin) {
		begin = command
	}
	begin = strings.TrimSuffix(strings.TrimSuffix(begin, "./"), ":")
	return open && c != wide && strings.HasPrefix(c.pattern, begin) &&
		!slices.ContainsFunc(c.approved, func(request *asked) bool { return !slices.Contains(wide.approved, request) })
}
