package approvals

import "time"

// Proposal is a rule that the decisions of people suggest: each call that it concerns and that
// people were asked about was approved.
type Proposal struct {
	Policy   string         `json:"policy"`   // name of the policy that would get the rule
	Pattern  string         `json:"pattern"`  // of the rule
	Line     string         `json:"line"`     // of the policy's rules
	Allows   string         `json:"allows"`   // what the rule allows, in a few words
	Approved int            `json:"approved"` // requests that people approved
	Sessions int            `json:"sessions"` // of these requests
	Last     time.Time      `json:"last"`     // when the newest of them was made, UTC
	Fewer    int            `json:"fewer"`    // requests that would not have been made, had all proposals been in the policy
	Alone    int            `json:"alone"`    // with this proposal alone
	Calls    []ProposedCall `json:"calls"`    // which the proposals would have allowed, most frequent first, at most MaxProposedCalls
}

// MaxProposedCalls is the most kinds of calls that a proposal lists.
const MaxProposedCalls = 10

// ProposedCall is calls alike that a proposal would have allowed.
type ProposedCall struct {
	ToolName string `json:"tool_name"`
	Preview  string `json:"preview"`
	Calls    int    `json:"calls"`
}

// NarrowedRule is a rule that asks, and whose every request was approved. A rule that allows changes nothing about it: it is
// narrowed by hand.
type NarrowedRule struct {
	Policy   string   `json:"policy"`
	Rule     string   `json:"rule"`     // file and line of it
	Approved int      `json:"approved"` // requests, all that it made
	Sessions int      `json:"sessions"` // of these requests
	Lines    []string `json:"lines"`    // the condition for the rule that leaves out the calls that were approved again and again, and rules that allow these
}

// LeftOut is a pattern of approved calls that is not proposed.
type LeftOut struct {
	Policy  string `json:"policy"`
	Pattern string `json:"pattern"`
	Reason  string `json:"reason"`
}

// ProposalQuery selects the decisions that proposals are made from, and how many of them a proposal
// needs.
type ProposalQuery struct {
	Since    time.Time // zero: all that are recorded
	Approved int       // requests that were approved; 0: DefaultApproved
	Sessions int       // of these; 0: DefaultSessions
}

// The least evidence of a proposal.
const (
	DefaultApproved = 3
	DefaultSessions = 2
)

// Proposals are the rules that decisions suggest, with the greatest effect first.
type Proposals struct {
	Items      []Proposal `json:"items"`
	NextCursor string     `json:"next_cursor"` // always "": there is one page
	Of         int        `json:"of"`          // requests that the policies of today would still make
	LeftOut    []LeftOut  `json:"left_out"`

	Narrow []NarrowedRule `json:"narrow"`
}
