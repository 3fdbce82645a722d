package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// maxListed is how many of the patterns that may match for one fact a warning names.
const maxListed = 5

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
	q.asks = asks
	return q.askByRules(by, asks, sure)
}

// sure are the patterns that certainly match the call.
func (q *question) sure(asks []*rule.Pattern) []*rule.Pattern {
	return slices.DeleteFunc(slices.Clone(asks), func(p *rule.Pattern) bool { return q.e.match(p) != match.Yes })
}

// doubts warn the reviewer of the patterns that only may match, once for each fact for which they may.
func (q *question) doubts(asks []*rule.Pattern) []string {
	if why := q.c.Exhausted(); why != "" {
		return []string{why}
	}
	var facts []string
	patterns := map[string][]string{} // in words, by fact
	add := func(p *rule.Pattern, does Action) {
		fact := q.e.inDoubt(p)
		if patterns[fact] == nil {
			facts = append(facts, fact)
		}
		words := fmt.Sprintf("the %s pattern %s (%s)", does, match.Quote(cmp.Or(p.Short, p.Text)), p.Where)
		if !slices.Contains(patterns[fact], words) {
			patterns[fact] = append(patterns[fact], words)
		}
	}
	if q.denied.match == match.Maybe {
		add(q.denied.pattern, Deny)
	}
	for _, p := range asks {
		if q.e.match(p) != match.Yes {
			add(p, Ask)
		}
	}
	var flags []string
	for _, fact := range facts {
		flags = append(flags, doubtText(fact, patterns[fact]))
	}
	return flags
}

// doubtText is the warning of patterns that may match for one fact. Of several, the first line counts them and the
// next lines name them: see [approvals.FoldFlag].
func doubtText(fact string, patterns []string) string {
	n := len(patterns)
	if n == 1 {
		return fmt.Sprintf("May match %s: %s.", patterns[0], fact)
	}
	text := fmt.Sprintf("May match %d rules: %s.\n%s", n, fact, strings.Join(patterns[:min(n, maxListed)], "\n"))
	if n > maxListed {
		text += fmt.Sprintf("\nand %d more", n-maxListed)
	}
	return text
}

// mayBe returns a sentence with the pattern that may match, as the reason of a question: the reason of
// its rule is for calls that match.
func (e *evaluation) mayBe(p *rule.Pattern) string {
	if why := e.c.Exhausted(); why != "" {
		return why
	}
	return fmt.Sprintf("May match %s: %s.", match.Quote(p.Text), e.inDoubt(p))
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
	if p.CompareReads(e.c) == match.Maybe {
		return "it may read such a file"
	}
	return "an argument differs from it in letter case only, or cannot be read"
}
