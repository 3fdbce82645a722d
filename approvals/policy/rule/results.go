package rule

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Results are the patterns about results of tools, each compared with the call that had the
// result. The zero value has none.
type Results struct {
	Deny, Ask, Redact []*Pattern // the strictest first; see [Rule.Contains]
	Allow             *Index     // nil: none
	Taint             []*Pattern // a run that reads such a result is tainted
	// Unseen is what happens to a conversation that continues without the results of released calls: [UnseenWarn],
	// [UnseenDeny] or "" for the default.
	Unseen call.Action
}

// The values of results_unseen.
const (
	UnseenWarn call.Action = "warn"
	UnseenDeny call.Action = call.Deny
)

// Any reports whether there is a pattern that concerns a result.
func (r *Results) Any() bool {
	return len(r.Deny)+len(r.Ask)+len(r.Redact)+len(r.Taint) > 0 || r.Unseen != ""
}

// resultSettings are the keys that rules about results share with those about calls.
var resultSettings = []string{"deny", "ask", "allow", "match", "reason", "risk", "timeout", "on_timeout", "reviewers", "escalate", "required_approvals"}

// readResults reads the rules about results, and the patterns of results that taint a run.
func (r *reader) readResults(rules, taint *yaml.Node, in *Set) {
	var read lists
	if rules != nil && !isEmpty(rules) {
		r.List(rules, "results", "rules", func(n *yaml.Node, path string) { r.readResult(n, path, in, &read) })
	}
	if taint != nil && !isEmpty(taint) {
		r.patterns(taint, "taint", &Rule{}, in, false, &read.taint)
	}
	for _, list := range [][]*Pattern{read.deny, read.ask, read.allow, read.redact, read.taint} {
		slices.SortFunc(list, byStrictness)
	}
	in.Results = Results{read.deny, read.ask, read.redact, NewAllowIndex(read.allow), read.taint, in.Results.Unseen}
}

func (r *reader) readResult(n *yaml.Node, path string, in *Set, to *lists) {
	before := len(r.Errors)
	rr := &ruleReader{reader: r, in: in, rule: &Rule{}, to: to, has: map[*[]*Pattern]bool{}}
	keys := slices.DeleteFunc(rr.keys(), func(k strictyaml.Key) bool { return !slices.Contains(resultSettings, k.Name) })
	r.Mapping(n, path, append(keys,
		strictyaml.Key{Name: "redact", Read: rr.patternList(&to.redact, false)},
		strictyaml.Key{Name: "contains", Read: func(n *yaml.Node, path string) { rr.rule.Contains = r.readDetectors(n, path) }},
	))
	for _, read := range rr.later {
		read()
	}
	if len(r.Errors) > before {
		return
	}
	if len(rr.has) == 0 {
		r.Fail(n, path, "names no deny, ask, allow or redact list")
		return
	}
	rr.checkEscalation(strictyaml.Join(path, "escalate"))
	for _, s := range rr.only {
		if !rr.has[s.list] {
			r.Fail(&yaml.Node{Line: s.line}, s.path, "has no effect: the rule has no %s list", s.name)
		}
	}
	switch contains := len(rr.rule.Contains) > 0; {
	case rr.has[&to.redact] && !contains:
		r.Fail(n, path, "has a redact list and no contains: write which parts of the results are redacted")
	case rr.has[&to.allow] && contains:
		r.Fail(n, path, "has an allow list and contains: an allow rule is about whole results")
	}
}

// readDetectors reads the regular expressions and the names of detectors of a rule.
func (r *reader) readDetectors(n *yaml.Node, path string) (detectors []*Detector) {
	r.List(n, path, "regular expressions", func(item *yaml.Node, path string) {
		text, ok := r.Text(item, path)
		if !ok {
			return
		}
		d, err := newDetector(text)
		if err != nil {
			r.Fail(item, path, "%s", err)
			return
		}
		detectors = append(detectors, d)
	})
	return detectors
}

// MayMatch reports whether a pattern of a list that restricts matches a call, or may. Nil is a
// call that is not known.
func (p *Pattern) MayMatch(c *call.Reading) bool { return c == nil || p.Compare(c) != match.No }
