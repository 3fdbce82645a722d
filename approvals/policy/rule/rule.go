package rule

import (
	"github.com/heldcall/heldcall/approvals/policy/resource"

	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Rule is what the patterns of one item of rules have in common.
type Rule struct {
	settings
	Reason           string
	MatchesArguments bool       // its patterns are compared with all the arguments
	When             *condition // nil: always
	Limit            *limit     // nil: any number of calls
	edits            []edit     // of a rewrite
	Title            *Message   // of a question
	Denial           *Message   // what the model is told of a denial
	Grant            *Granted   // nil of a rule of the policy

	kinds []resource.Kind // of the resources of the tools that the rule is about; nil: any
	names *regexp.Regexp  // finds the names that a call must contain; nil: none
}

// Basis is why a verdict is what it is.
type Basis struct {
	Action resource.Action
	Rule   string
	Reason string
	Risk   approvals.Risk
	Grants []string // ids of those that decide

	Builtin bool // by the risk of a built-in profile
	Rated   bool // by the risk of a tool
	// spelledOut is true of a script that allow patterns without a * spell out:
	// what it may run beyond its words is meant by who wrote them.
	SpelledOut bool
}

// Basis is the pattern's own, for an action that its list names.
func (p *Pattern) Basis(a resource.Action) Basis {
	says := map[resource.Action]string{resource.Allow: "allows", resource.Deny: "denies", resource.Ask: "asks about"}[a]
	g := Basis{
		Action: a,
		Rule:   p.Where,
		Risk:   p.Rule.Risk,
		Reason: cmp.Or(p.Rule.Reason, fmt.Sprintf("The policy %s %s.", says, p.Text)),
	}
	if p.Rule.Grant != nil {
		g.Grants = []string{p.Rule.Grant.Id}
	}
	return g
}

// settings are what a rule says of a question to people.
type settings struct {
	Risk           approvals.Risk
	Timeout        time.Duration
	OnTimeout      string
	Reviewers      []string // sorted
	Escalate       Escalation
	Required       int
	NoRemember     bool                   // decisions are not to be remembered
	GrantOverrides bool                   // a grant that allows stands above the rule
	Scopes         []approvals.GrantScope // of such a grant; nil: any
}

func Strictest(a, b approvals.Risk) approvals.Risk {
	if riskLevel(b) > riskLevel(a) {
		return b
	}
	return a
}

// riskLevel orders risks; an unset one is below all.
func riskLevel(r approvals.Risk) int {
	return slices.Index([]approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}, r)
}

// concerns reports whether the rule is about tools with a resource of a kind.
func (r *Rule) concerns(k resource.Kind) bool {
	return r == nil || len(r.kinds) == 0 || slices.Contains(r.kinds, k)
}
