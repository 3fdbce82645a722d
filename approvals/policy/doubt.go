package policy

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// maxDoubts is of how many patterns that may match a reviewer is warned.
const maxDoubts = 5

// askMatching asks by rules whose patterns match or may match. Of a pattern that only may match,
// the reason, risk and title of its rule are not shown as facts.
func (q *question) askMatching(asks []*rule.Pattern) Verdict {
	sure := q.sure(asks)
	var by rule.Basis
	if len(sure) > 0 {
		by = sure[0].Basis(Ask)
	} else {
		by = rule.Basis{Action: Ask, Rule: asks[0].Where, Reason: q.e.mayBe(asks[0])}
	}
	v := q.askByRules(by, asks, sure)
	v.Flags = append(v.Flags, q.doubtsOf(asks)...)
	return v
}

// sure are the patterns that certainly match the call.
func (q *question) sure(asks []*rule.Pattern) []*rule.Pattern {
	return slices.DeleteFunc(slices.Clone(asks), func(p *rule.Pattern) bool { return q.e.match(p) != match.Yes })
}

// doubtsOf warn the reviewer of each pattern that only may match, in one sentence each.
func (q *question) doubtsOf(asks []*rule.Pattern) []string {
	if why := q.c.Exhausted(); why != "" {
		return []string{why}
	}
	var flags []string
	more := 0
	for _, p := range asks {
		switch {
		case q.e.match(p) == match.Yes:
		case len(flags) == maxDoubts:
			more++
		default:
			flags = append(flags, q.e.mayMatch(p, Ask))
		}
	}
	if more > 0 {
		flags = append(flags, fmt.Sprintf("May match %d more ask patterns.", more))
	}
	return flags
}

// mayBe returns a sentence with the pattern that may match, as the reason of a question: the reason of
// its rule is for calls that match.
func (e *evaluation) mayBe(p *rule.Pattern) string {
	if why := e.c.Exhausted(); why != "" {
		return why
	}
	return fmt.Sprintf("May match %s: %s.", match.Quote(p.Text), e.inDoubt(p))
}

// mayMatch returns a sentence with the pattern that may match and the part of the call in doubt.
func (e *evaluation) mayMatch(p *rule.Pattern, does Action) string {
	return fmt.Sprintf("May match the %s pattern %s (%s): %s.", does, match.Quote(p.Text), p.Where, e.inDoubt(p))
}

// inDoubt returns the part of the call for which a pattern may match, without a full stop.
func (e *evaluation) inDoubt(p *rule.Pattern) string {
	if len(e.c.Doubts) > 0 {
		return match.SentencePart(e.c.Doubts[0])
	}
	if why := e.c.Exhausted(); why != "" {
		return match.SentencePart(why)
	}
	if !p.Any && !p.Rule.MatchesArguments {
		for i := range e.c.Candidates {
			if r := &e.c.Candidates[i]; p.MatchCandidate(e.c, r) == match.Maybe {
				return p.InDoubt(e.c, r)
			}
		}
	}
	if e.c.Ambiguity != "" {
		return match.SentencePart(e.c.Ambiguity)
	}
	return "an argument differs from it in letter case only, or cannot be read"
}
