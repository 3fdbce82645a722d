package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/heldcall/heldcall/internal/strictyaml"
	"go.yaml.in/yaml/v3"
)

// Escalation is who may decide a question too when nobody has for a while. The
// zero value is none.
type Escalation struct {
	After time.Duration // from the question on; less than its timeout
	To    []string      // groups, sorted
}

// compare orders escalations by what they say.
func (e Escalation) compare(other Escalation) int {
	return cmp.Or(cmp.Compare(e.After, other.After), slices.Compare(e.To, other.To))
}

// escalation reads the escalate of a rule.
func (r *reader) escalation(n *yaml.Node, path string) Escalation {
	var e Escalation
	before := len(r.Errors)
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "after", Read: func(n *yaml.Node, path string) { e.After = r.Duration(n, path) }},
		{Name: "to", Read: func(n *yaml.Node, path string) { e.To = r.names(n, path) }},
	})
	if len(r.Errors) == before && (e.After == 0 || len(e.To) == 0) {
		r.Fail(n, path, "is not complete: write after, a time, and to, a list of reviewers")
	}
	return e
}

// checkEscalation compares the escalate of a rule with its other settings.
func (r *ruleReader) checkEscalation(path string) {
	one := r.one
	if r.escalateAt == nil {
		return
	}
	timeout := cmp.Or(one.timeout, DefaultTimeout)
	switch {
	case len(one.reviewers) == 0:
		r.Fail(r.escalateAt, path, "has no effect: the rule names no reviewers, so any reviewer may decide from the start")
	case one.escalate.After >= timeout:
		r.Fail(r.escalateAt, path+".after", "is not before the end: the rule's timeout is %s", timeout)
	}
}
