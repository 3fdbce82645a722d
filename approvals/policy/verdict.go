package policy

import (
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Verdict is the decision of a policy on one call. The fields from Suggested to
// AllowRemember are set where Action is [Ask].
type Verdict struct {
	Action   Action
	Rule     string // "policy.yaml:12", "tool bash (policy.yaml:4)", "built-in profile of Read" or "default"
	Reason   string // one sentence
	Risk     approvals.Risk
	Resource string // what patterns were compared with
	Preview  string // the resource on one short line, control characters made visible

	// Arguments are those that the call is to be released with where rewrite
	// rules change them, else "". What is allowed or asked about is then the
	// changed call, and RewrittenBy names the rules.
	Arguments   string
	RewrittenBy string

	// Commands are the commands found in a shell command, at any depth and with
	// those that they run, with … for what only a shell knows. They are set
	// where Action is [Ask].
	Commands []string

	// Suggested are patterns that would have allowed the call, from exact to a
	// little more general. Of a script of several commands they are one exact
	// pattern for each; of what no pattern can allow there are none.
	Suggested []string

	// Grants are the ids of the grants that allow or deny the call, if grants do.
	Grants []string

	Title  string  // of the question, as a rule has it, on one line; "": none has
	Denial *Denial // the message of a rule to the model if the call is denied; nil: none has one

	Timeout           time.Duration // never 0 where people are asked
	OnTimeout         string        // approvals.OnTimeoutDeny or approvals.OnTimeoutApprove
	Reviewers         []string      // groups that may decide; none: any reviewer
	Escalate          Escalation    // who may too, after a while
	RequiredApprovals int           // at least 1 where people are asked
	Demands           []Demand      // what rules that name different groups want, each of its own; nil: the fields above are all
	AllowRemember     bool
	RememberScopes    []approvals.GrantScope // of a grant that remembers; nil: any

	// Limits are those of the rules that let the call pass or ask about it. Whether
	// it is one too many has to be counted: see [Counter.Take].
	Limits []Limit

	// Listed reports of a hosted tool that hosted_tools lists it, so that it is what
	// policy takes it for.
	Listed bool

	// Shadowed is the action of a policy that is only tried out ([Shadow]) and
	// would not have let the call pass; else "".
	Shadowed Action

	// Flags warn the reviewer, each in one sentence.
	Flags []string
}

// Said returns the action of the policy, in shadow mode too.
func (v *Verdict) Said() Action {
	if v.Shadowed != "" {
		return v.Shadowed
	}
	return v.Action
}

// flag warns the reviewer, once.
func (v *Verdict) flag(text string) {
	if !slices.Contains(v.Flags, text) {
		v.Flags = append(v.Flags, text)
	}
}

// Denial is the message of a rule to the model about a denied call.
type Denial struct {
	message *rule.Message
	data    rule.MessageData
}

// Text fills in how the call came to be denied. It is "" if that cannot be done,
// and on a nil *Denial: then the model gets the usual message.
func (d *Denial) Text(how Denied) string {
	if d == nil {
		return ""
	}
	data := d.data
	data.Denied = how
	text, err := d.message.Render(data)
	if err != nil {
		return ""
	}
	return text
}

func shadowed(v Verdict) Verdict {
	if v.Action != Allow {
		v.Shadowed, v.Action = v.Action, Allow
	}
	v.Arguments, v.RewrittenBy = "", ""
	for i := range v.Limits {
		v.Limits[i].shadowed = true
	}
	return v
}
