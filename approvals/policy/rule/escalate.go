package rule

import (
	"cmp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// escalation reads the escalate of a rule.
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

// checkEscalation compares the escalate of a rule with its other settings.
func (r *ruleReader) checkEscalation(path string) {
	one := r.one
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

// Escalation is who may decide a question too when nobody has for a while. The
// zero value is none.
type Escalation struct {
	After time.Duration // from the question on; less than its timeout
	To    []string      // groups, sorted
}

// Compare orders escalations by their values.
func (e Escalation) Compare(other Escalation) int {
	return cmp.Or(cmp.Compare(e.After, other.After), slices.Compare(e.To, other.To))
}
