package rule

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// Rule is the settings of one item of rules.
type Rule struct {
	Settings
	Reason           string
	MatchesArguments bool             // its patterns are compared with all the arguments
	Within           bool             // it allows only calls whose paths are all inside the workspace
	Scratch          bool             // or in the folder for temporary files
	Does             []programs.Class // it allows only commands of these classes; nil: of any
	When             *Condition       // nil: always
	Limit            *Limit           // nil: any number of calls
	Edits            []Edit           // of a rewrite
	Title            *Message         // of a question
	Denial           *Message         // to the model, of a denial
	Notice           *Message         // to the user, of a call that is parked
	Contains         []*Detector      // of a rule about results: what it is about; none: whole results
	Grant            *Granted         // nil of a rule of the policy
	OfSecret         bool             // of secrets: the calls that get a value
	Listed           bool             // a last * covers operands and listed options only: language 1

	Kinds []call.Kind    // of the resources of the tools that the rule is about; nil: any
	Names *regexp.Regexp // finds the names that a call must contain; nil: none
}

// Basis is the source of a verdict: a rule, a grant or a default.
type Basis struct {
	Action call.Action
	Rule   string
	Reason string
	Risk   approvals.Risk
	Grants []string // ids of those that decide

	Builtin bool // by the risk of a built-in profile
	Rated   bool // by the risk of a tool
	// SpelledOut is true for a script covered by allow patterns without a *: its author meant all
	// that it runs.
	SpelledOut bool
}

// Settings are the settings of a rule for a question to people.
type Settings struct {
	Risk           approvals.Risk
	Timeout        time.Duration
	OnTimeout      string
	Reviewers      []string // sorted
	Escalate       Escalation
	Required       int
	NoRemember     bool                   // decisions are not to be remembered
	GrantOverrides bool                   // a grant that allows overrides the rule
	Scopes         []approvals.GrantScope // of such a grant; nil: any
	Hold           Hold
	Confirm        bool // an approval must have the target of the call, as the reviewer typed it
	Passkey        bool // an approval must have the assertion of a passkey
}

// Hold is how an answer waits for people: see hold.mode in docs/configuration.md.
type Hold string

// The kinds of hold. The zero value is that of the configuration.
const (
	HoldBlock Hold = "block" // the answer waits
	HoldPark  Hold = "park"  // the answer ends with a notice after a while; the request stays open
)

// Strictest returns the higher of two risks. None is below all.
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

func (r *Rule) concerns(k call.Kind) bool {
	return r == nil || len(r.Kinds) == 0 || slices.Contains(r.Kinds, k)
}

// DefaultTimeout is how long people have to answer where no rule sets it.
const DefaultTimeout = 300 * time.Second

// StrictestSettings joins the settings of several ask rules, except who decides. If silence
// approves, a longer time-out is stricter. A call is parked if one of the rules parks it.
func StrictestSettings(asks []*Pattern, silence bool) Settings {
	var all Settings
	for _, p := range asks {
		r := p.Rule.Settings
		all.Risk = Strictest(all.Risk, r.Risk)
		all.NoRemember = all.NoRemember || r.NoRemember
		all.Confirm, all.Passkey = all.Confirm || r.Confirm, all.Passkey || r.Passkey
		all.Scopes, all.NoRemember = common(all.Scopes, r.Scopes, all.NoRemember)
		if all.Hold != HoldPark {
			all.Hold = cmp.Or(r.Hold, all.Hold)
		}
		t := cmp.Or(r.Timeout, DefaultTimeout)
		if all.Timeout == 0 || (silence && t > all.Timeout) || (!silence && t < all.Timeout) {
			all.Timeout = t
		}
	}
	return all
}

// common returns the grant scopes that two rules share. If there are none, decisions are not
// remembered.
func common(a, b []approvals.GrantScope, forget bool) ([]approvals.GrantScope, bool) {
	switch {
	case len(b) == 0:
		return a, forget
	case len(a) == 0:
		return b, forget
	}
	var both []approvals.GrantScope
	for _, one := range a {
		if slices.Contains(b, one) {
			both = append(both, one)
		}
	}
	return both, forget || len(both) == 0
}

// RulesOf returns the rules of patterns, in their order.
func RulesOf(patterns []*Pattern) []*Rule {
	rules := make([]*Rule, len(patterns))
	for i, p := range patterns {
		rules[i] = p.Rule
	}
	return rules
}
