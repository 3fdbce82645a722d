package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/internal/strictyaml"
	"go.yaml.in/yaml/v3"
)

// maxPerMinute is the most calls a minute that a limit may let pass: the time of
// each of them is kept.
const maxPerMinute = 10_000

// limit is how many calls a rule lets pass, or asks about.
type limit struct {
	turn, run, minute int // 0: any number
	then              Action
	of                string // the same as long as patterns and condition of the rule are
}

// limited are the patterns of the rules that have a limit.
type limited struct{ allow, ask *index }

// newLimited finds them among all.
func newLimited(all *lists) limited {
	of := func(patterns []*pattern) *index {
		var found []*pattern
		for _, p := range patterns {
			if p.rule.limit != nil {
				one := *p // has a rank of its own in each index
				found = append(found, &one)
			}
		}
		return newIndex(found)
	}
	return limited{of(all.allow), of(all.ask)}
}

// Limit is the limit of a rule that lets a call pass, or asks about it, and that
// call. A policy keeps no count: see [Counter].
type Limit struct {
	PerTurn, PerRun, PerMinute int    // calls; 0: any number
	Then                       Action // [Ask] or [Deny], of a call beyond

	subject  *subject
	pattern  *pattern
	asks     bool // the rule asks, and does not allow
	shadowed bool
}

// limits are those that hold for a call on which the verdict is v: of each ask rule
// that matches it, also where a grant has lifted the rule, and of each allow rule
// that covers a part of an allowed call.
func (s *subject) limits(v *Verdict) []Limit {
	if v.Action == Deny {
		return nil
	}
	found := s.limitsIn(nil, s.policy.limited.ask, func(p *pattern) bool { return s.match(p) != match.No })
	if v.Action == Allow {
		found = s.limitsIn(found, s.policy.limited.allow, s.partly)
	}
	for i := range found {
		found[i].asks = v.Action == Ask
	}
	return found
}

// limitsIn adds the limits of the rules of an index of which a pattern holds.
func (s *subject) limitsIn(to []Limit, x *index, holds func(*pattern) bool) []Limit {
	var found []Limit
	for p := range x.candidates(s.call.Tool, s.kind, s.keys, s.every) {
		known := slices.ContainsFunc(slices.Concat(to, found), func(l Limit) bool { return l.pattern.rule == p.rule })
		if of := p.rule.limit; !known && holds(p) {
			found = append(found, Limit{PerTurn: of.turn, PerRun: of.run, PerMinute: of.minute, Then: of.then, subject: s, pattern: p})
		}
	}
	slices.SortFunc(found, func(a, b Limit) int { return a.pattern.rank - b.pattern.rank })
	return append(to, found...)
}

// partly reports whether an allow pattern covers a part of the call.
func (s *subject) partly(p *pattern) bool {
	if !p.isFor(s.call.Tool, s.kind) || !s.allows(p) {
		return false
	}
	for i := range s.resources() {
		r := &s.readings[i]
		if s.kind != asShell || p.rule.wide {
			if p.covers(s, r) {
				return true
			}
			continue
		}
		if slices.ContainsFunc(r.script.All, func(c *shell.Command) bool { return s.coversCommand(p, c) }) {
			return true
		}
	}
	return p.any
}

// Where is the file and line of the rule.
func (l *Limit) Where() string { return l.pattern.where }

// String says what the limit is, such as "5 calls a turn, 20 a run".
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

// Beyond is the verdict on a call that is one too many for limits, as [Counter.Take]
// finds: what each of their rules wants of it, and what was wanted anyway.
func (v Verdict) Beyond(over []Excess) Verdict {
	parts := []Verdict{v}
	for _, e := range over {
		parts = append(parts, e.Limit.beyond(e.Bound))
	}
	return Together(parts...)
}

// beyond is the verdict of the limit's rule on a call that is one too many.
func (l *Limit) beyond(exceeded string) Verdict {
	s, p := l.subject, l.pattern
	by := p.ground(l.Then)
	by.reason = fmt.Sprintf("The policy lets %s of %s pass, and this is one more.", exceeded, p.text)
	if l.asks {
		by.reason = fmt.Sprintf("The policy asks about %s of %s, and this is one more.", exceeded, p.text)
	}
	var v Verdict
	if l.Then == Deny {
		v = s.verdict(by)
		v.Denial = s.denial(&v, []*rule{p.rule})
	} else {
		v = s.rewritten(s.askByRules(by, []*pattern{p}, []*pattern{p}, s.findDeny()))
		v.AllowRemember = false // a grant lifts no limit
	}
	if l.shadowed {
		return shadowed(v)
	}
	return v
}

// bound is one number of a limit.
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

// bounds are the numbers that the limit has.
func (l *Limit) bounds() []bound {
	all := []bound{{"turn", l.PerTurn}, {"run", l.PerRun}, {"minute", l.PerMinute}}
	return slices.DeleteFunc(all, func(b bound) bool { return b.most == 0 })
}

// limit reads the limit of a rule.
func (r *ruleReader) limit(n *yaml.Node, path string) {
	before := len(r.Errors)
	l := &limit{}
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "per_turn", Read: func(n *yaml.Node, path string) { l.turn = r.Number(n, path, 1) }},
		{Name: "per_run", Read: func(n *yaml.Node, path string) { l.run = r.Number(n, path, 1) }},
		{Name: "per_minute", Read: func(n *yaml.Node, path string) {
			if l.minute = r.Number(n, path, 1); l.minute > maxPerMinute {
				r.Fail(n, path, "must be at most %d", maxPerMinute)
			}
		}},
		{Name: "then", Read: func(n *yaml.Node, path string) {
			l.then = Action(r.OneOf(n, path, []string{string(Ask), string(Deny)}))
		}},
	})
	if len(r.Errors) == before && l.turn == 0 && l.run == 0 && l.minute == 0 {
		r.Fail(n, path, "limits nothing: write per_turn, per_run or per_minute")
	}
	r.one.limit, r.limitAt = l, n
}

// checkLimit completes the limit of a rule whose lists are known: what is beyond
// it is asked about, or denied if the rule asks by itself.
func (r *ruleReader) checkLimit(path string) {
	l := r.one.limit
	if l == nil {
		return
	}
	asks, allows := r.found[&r.to.ask], r.found[&r.to.allow]
	switch {
	case !asks && !allows:
		r.Fail(r.limitAt, path, "has no effect: it is about the allow and the ask list, and the rule has neither")
	case asks && l.then == Ask:
		r.Fail(r.limitAt, path, "then: ask has no effect on what the ask list asks about anyway: write then: deny")
	case l.then == "" && asks:
		l.then = Deny
	case l.then == "":
		l.then = Ask
	}
	for _, p := range slices.Concat(r.to.allow, r.to.ask) {
		if p.rule == r.one {
			l.of += p.text + "\n"
		}
	}
	l.of += r.one.when.text()
}

// asksBeyond reports whether the rule asks about calls beyond its limit, so that
// it may say how.
func (r *ruleReader) asksBeyond() bool { return r.one.limit != nil && r.one.limit.then == Ask }
