package policy

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

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

// maxPerMinute is the most calls a minute that a limit may let pass: the time of
// each of them is kept.
const maxPerMinute = 10_000
