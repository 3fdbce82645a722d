package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Limit is the limit of a rule that matches a call. See [Counter].
type Limit struct {
	*rule.Limit
	call     *evaluation
	pattern  *rule.Pattern
	shadowed bool
}

// limits returns the limits of a call with verdict v: of each matching ask rule, even if a grant
// overrides it, and of each allow rule that covers a part of an allowed call.
func (e *evaluation) limits(v *Verdict) []Limit {
	if v.Action == Deny {
		return nil
	}
	found := e.limitsIn(nil, e.policy.rules.Limited.Ask, func(p *rule.Pattern) bool { return e.match(p) != match.No })
	if v.Action == Allow {
		found = e.limitsIn(found, e.policy.rules.Limited.Allow, e.partly)
	}
	return found
}

// limitsIn appends the limits of the rules of an index that have a matching pattern.
func (e *evaluation) limitsIn(to []Limit, x *rule.Index, holds func(*rule.Pattern) bool) []Limit {
	var found []Limit
	for p := range x.Candidates(e.c.Call.Tool, e.c.Kind, e.c.Keys.Texts, e.c.Keys.Any) {
		known := slices.ContainsFunc(slices.Concat(to, found), func(l Limit) bool { return l.pattern.Rule == p.Rule })
		if !known && holds(p) {
			found = append(found, Limit{Limit: p.Rule.Limit, call: e, pattern: p})
		}
	}
	slices.SortFunc(found, func(a, b Limit) int { return a.pattern.Rank - b.pattern.Rank })
	return append(to, found...)
}

// Where is the file and line of the rule.
func (l *Limit) Where() string { return l.pattern.Where }

// String returns the limit in words, such as "5 calls a turn, 20 a run".
func (l *Limit) String() string {
	var all []string
	for _, one := range l.bounds() {
		text := fmt.Sprintf("%d a %s", one.most, one.kind)
		if len(all) == 0 {
			text = one.String()
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// Exceeded returns the verdict on a call that exceeds limits: the demands of their rules together
// with those of v.
func (v Verdict) Exceeded(over []Excess) Verdict {
	parts := []Verdict{v}
	for _, e := range over {
		parts = append(parts, e.Limit.beyond(e.Bound))
	}
	return Together(parts...)
}

// beyond is the verdict of the limit's rule on a call that is one too many.
func (l *Limit) beyond(exceeded string) Verdict {
	p := l.pattern
	by := p.Basis(l.Then)
	by.Reason = fmt.Sprintf("The policy's limit of %s for %s is reached.", exceeded, p.Text)
	var v Verdict
	q := newQuestion(l.call)
	if l.Then == Deny {
		v = q.verdict(by)
		v.Denial = q.message(&v, []*rule.Rule{p.Rule}, denialOf)
	} else {
		v = q.rewritten(q.askByRules(by, []*rule.Pattern{p}, []*rule.Pattern{p}))
		v.AllowRemember = false // a grant lifts no limit
	}
	if l.shadowed {
		return shadowed(v)
	}
	return v
}

type bound struct {
	kind string // turn, run or minute
	most int
}

func (b bound) String() string {
	if b.most == 1 {
		return "1 call a " + b.kind
	}
	return fmt.Sprintf("%d calls a %s", b.most, b.kind)
}

func (l *Limit) bounds() []bound {
	all := []bound{{"turn", l.PerTurn}, {"run", l.PerRun}, {"minute", l.PerMinute}}
	return slices.DeleteFunc(all, func(b bound) bool { return b.most == 0 })
}
