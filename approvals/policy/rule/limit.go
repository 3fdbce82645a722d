package rule

import (
	"cmp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Limit is how many calls a rule lets pass, or asks about.
type Limit struct {
	PerTurn, PerRun, PerMinute int         // calls; 0: any number
	Then                       call.Action // of a call beyond: [call.Ask] or [call.Deny]
	Key                        string      // the same as long as patterns and condition of the rule are
}

func (r *ruleReader) limit(n *yaml.Node, path string) {
	before := len(r.Errors)
	l := &Limit{}
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "per_turn", Read: func(n *yaml.Node, path string) { l.PerTurn = r.Number(n, path, 1) }},
		{Name: "per_run", Read: func(n *yaml.Node, path string) { l.PerRun = r.Number(n, path, 1) }},
		{Name: "per_minute", Read: func(n *yaml.Node, path string) {
			if l.PerMinute = r.Number(n, path, 1); l.PerMinute > maxPerMinute {
				r.Fail(n, path, "must be at most %d", maxPerMinute)
			}
		}},
		{Name: "then", Read: call.SetOneOf(&r.Reader, &l.Then, call.Ask, call.Deny)},
	})
	if len(r.Errors) == before && l.PerTurn == 0 && l.PerRun == 0 && l.PerMinute == 0 {
		r.Fail(n, path, "limits nothing: write per_turn, per_run or per_minute")
	}
	r.rule.Limit, r.limitAt = l, n
}

// checkLimit completes the limit of a rule when its lists are known: calls beyond it are asked
// about, or denied if the rule asks.
func (r *ruleReader) checkLimit(path string) {
	l := r.rule.Limit
	if l == nil {
		return
	}
	asks, allows := r.has[&r.to.ask], r.has[&r.to.allow]
	switch {
	case !asks && !allows:
		r.Fail(r.limitAt, path, "has no effect: the rule has neither an allow list nor an ask list")
	case asks && l.Then == call.Ask:
		r.Fail(r.limitAt, path, "then: ask has no effect in a rule with an ask list: write then: deny")
	case l.Then == "" && asks:
		l.Then = call.Deny
	case l.Then == "":
		l.Then = call.Ask
	}
	for _, p := range slices.Concat(r.to.allow, r.to.ask) {
		if p.Rule == r.rule {
			l.Key += p.Text + "\n"
		}
	}
	l.Key += r.rule.When.text()
}

// asksBeyond reports whether the rule asks about calls beyond its limit, so that settings of ask
// rules apply.
func (r *ruleReader) asksBeyond() bool {
	return r.rule.Limit != nil && r.rule.Limit.Then == call.Ask
}

// maxPerMinute bounds a limit, as the time of each call is kept.
const maxPerMinute = 10_000

func (r *reader) escalation(n *yaml.Node, path string) Escalation {
	var e Escalation
	before := len(r.Errors)
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "after", Read: func(n *yaml.Node, path string) { e.After = r.Duration(n, path) }},
		{Name: "to", Read: func(n *yaml.Node, path string) { e.To = r.names(n, path) }},
	})
	if len(r.Errors) == before && (e.After == 0 || len(e.To) == 0) {
		r.Fail(n, path, "is not complete: write after, a duration, and to, a list of groups")
	}
	return e
}

func (r *ruleReader) checkEscalation(path string) {
	one := r.rule
	if r.escalateAt == nil {
		return
	}
	timeout := cmp.Or(one.Timeout, DefaultTimeout)
	switch {
	case len(one.Reviewers) == 0:
		r.Fail(r.escalateAt, path, "has no effect: the rule names no reviewers, so any reviewer may decide at once")
	case one.Escalate.After >= timeout:
		r.Fail(r.escalateAt, path+".after", "must be less than the rule's timeout, %s", timeout)
	}
}

// Escalation is the groups that may decide a request too, after a time without a decision. The zero
// value is none.
type Escalation struct {
	After time.Duration // from the question on; less than its timeout
	To    []string      // groups, sorted
}

// Compare orders escalations by their values.
func (e Escalation) Compare(other Escalation) int {
	return cmp.Or(cmp.Compare(e.After, other.After), slices.Compare(e.To, other.To))
}
