package policy

import (
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Verdict is the decision of a policy on one call. The fields from Suggested to AllowRemember are
// set if Action is [Ask].
type Verdict struct {
	Action   Action
	Rule     string // "policy.yaml:12", "tool bash (policy.yaml:4)", "built-in profile of Read" or "default"
	Reason   string // one sentence
	Risk     approvals.Risk
	Resource string // what patterns were compared with
	Preview  string // the resource on one short line, control characters made visible

	// Arguments are the new arguments if rewrite rules change them, else "". The action is then on
	// the changed call, and RewrittenBy names the rules.
	Arguments   string
	RewrittenBy string

	// Commands are those of a shell command at any depth, with … for text that only a shell knows.
	// They are set if Action is [Ask].
	Commands []string

	// Effects are those of the call, with new arguments if rewrite rules change it. They are set if
	// Action is [Ask].
	Effects []approvals.Effect

	// Suggested are patterns that would have allowed the call, from exact to slightly wider. A
	// script of several commands has one exact pattern for each.
	Suggested []string

	// Grants are the ids of the grants that allow or deny the call, if grants do.
	Grants []string

	Title  string   // of the question, as a rule has it, on one line; "": none has
	Denial *Message // the message of a rule to the model if the call is denied; nil: none has one

	Hold   rule.Hold // how the answer waits for people; "": as the configuration has it
	Notice *Message  // the message of a rule to the user if the call is parked; nil: none has one

	Timeout           time.Duration   // never 0 where people are asked
	OnTimeout         string          // approvals.OnTimeoutDeny or approvals.OnTimeoutApprove
	Reviewers         []string        // groups that may decide; none: any reviewer
	Escalate          rule.Escalation // who may too, after a while
	RequiredApprovals int             // at least 1 where people are asked
	Demands           []Demand        // what rules that name different groups want, each of its own; nil: the fields above are all
	AllowRemember     bool
	DenyOnly          bool                   // a grant that allows has no effect on a rule that asks
	RememberScopes    []approvals.GrantScope // of a grant that remembers; nil: any
	Confirm           bool                   // an approval must have the target of the call: see [Verdict.Confirmation]
	Passkey           bool                   // an approval must have the assertion of a passkey
	Window            bool                   // a trust window would cover the call

	// Starts is the argument with the first message to the agent that the call starts, "" for other calls.
	Starts string

	// Limits are those of the rules that allow or ask: see [Counter.Take].
	Limits []Limit

	// Unoffered is why the tool is certainly not offered, or "": see [Call].
	Unoffered string

	// Listed reports whether hosted_tools lists a hosted tool.
	Listed bool

	// ByDefault reports whether no rule and no grant decides, but a default or the risk of the tool.
	ByDefault bool

	// Shadowed is the action of a [Shadow] policy that would not have allowed the call, else "".
	Shadowed Action

	// Folder is the repository outside of the workspace in which the call works, if it would be allowed with that folder in
	// the workspace of its run; else "".
	Folder string

	// Files are those of the workspace that the call writes, as far as heldcall sees them. They are set if Action is [Ask].
	Files []approvals.File

	// Flags warn the reviewer, each in one sentence.
	Flags []string
}

// Confirmation returns what a reviewer types to approve a call of a tool, "" for nothing.
func (v *Verdict) Confirmation(tool string) string {
	if !v.Confirm {
		return ""
	}
	return approvals.ConfirmationOf(v.Effects, tool)
}

// Said returns the action of the policy, also in shadow mode.
func (v *Verdict) Said() Action {
	if v.Shadowed != "" {
		return v.Shadowed
	}
	return v.Action
}

func (v *Verdict) flag(text string) {
	if !slices.Contains(v.Flags, text) {
		v.Flags = append(v.Flags, text)
	}
}

// Message is a message of a rule about one call. Its methods return "" on failure and for a
// nil *Message: the usual message is then sent.
type Message struct {
	message *rule.Message
	data    rule.MessageData
}

// Denied returns the message to the model about a call that was denied.
func (m *Message) Denied(how Denied) string {
	return m.render(func(data *rule.MessageData) { data.Denied = how })
}

// Parked returns the message to the user about a call that is parked for a request.
func (m *Message) Parked(request string) string {
	return m.render(func(data *rule.MessageData) { data.Request = request })
}

func (m *Message) render(set func(*rule.MessageData)) string {
	if m == nil {
		return ""
	}
	data := m.data
	set(&data)
	text, err := m.message.Render(data)
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
