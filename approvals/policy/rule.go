package policy

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/heldcall/heldcall/approvals"
)

// rule is what the patterns of one item of rules have in common.
type rule struct {
	settings
	reason string
	wide   bool       // its patterns are compared with all the arguments
	when   *condition // nil: always
	limit  *limit     // nil: any number of calls
	edits  []edit     // of a rewrite
	title  *Message   // of a question
	denial *Message   // what the model is told of a denial
	grant  *granted   // nil of a rule of the policy

	kinds []kind         // of the resources of the tools that the rule is about; nil: any
	names *regexp.Regexp // finds the names that a call must contain; nil: none
}

// ground is why a verdict is what it is.
type ground struct {
	action Action
	rule   string
	reason string
	risk   approvals.Risk
	grants []string // ids of those that decide

	builtin bool // by the risk of a built-in profile
	rated   bool // by the risk of a tool
	// spelledOut is true of a script that allow patterns without a * spell out:
	// what it may run beyond its words is meant by who wrote them.
	spelledOut bool
}

// ground is the pattern's own, for an action that its list names.
func (p *pattern) ground(a Action) ground {
	says := map[Action]string{Allow: "allows", Deny: "denies", Ask: "asks about"}[a]
	g := ground{
		action: a,
		rule:   p.where,
		risk:   p.rule.risk,
		reason: cmp.Or(p.rule.reason, fmt.Sprintf("The policy %s %s.", says, p.text)),
	}
	if p.rule.grant != nil {
		g.grants = []string{p.rule.grant.id}
	}
	return g
}
