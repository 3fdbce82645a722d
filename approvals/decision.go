package approvals

import (
	"encoding/json"
	"time"
)

// Action is what a reviewer decided.
type Action string

// The actions of a decision.
const (
	ActionApprove     Action = "approve"
	ActionDeny        Action = "deny"
	ActionModifyArgs  Action = "modify_args"
	ActionAllowAlways Action = "allow_always"
	ActionDenyAlways  Action = "deny_always"
	ActionAnswer      Action = "answer"
	ActionAbortRun    Action = "abort_run"
)

// Approves reports whether the action lets a call run.
func (a Action) Approves() bool {
	return a == ActionApprove || a == ActionModifyArgs || a == ActionAllowAlways
}

func (a Action) denies() bool {
	return a == ActionDeny || a == ActionDenyAlways || a == ActionAbortRun
}

// The reviewer_id of the decisions that heldcall makes by itself. No person has these names.
const (
	ReviewerTimeout = "timeout" // at the deadline
	ReviewerPolicy  = "policy"  // a policy that changed while the request waited
)

// Automatic reports whether a reviewer_id is that of a decision that no person made.
func Automatic(reviewer string) bool {
	return reviewer == ReviewerTimeout || reviewer == ReviewerPolicy
}

// Decision is one answer to a request. Tenants and the fields that begin with Reviewer are
// set by the channel that authenticated the reviewer; a payload does not set them.
type Decision struct {
	RequestID      string              `json:"request_id"`
	Action         Action              `json:"action"`
	ModifiedArgs   json.RawMessage     `json:"modified_args,omitempty"`
	Note           string              `json:"note,omitempty"`
	ReviewerID     string              `json:"reviewer_id"`
	ReviewerUser   string              `json:"reviewer_user,omitempty"`    // as principals name the same person
	ReviewerGroups []string            `json:"reviewer_groups,omitempty"`  // that give the right to decide
	Tenants        TenantScope         `json:"-"`                          // of the reviewer; not recorded
	OwnRightsOnly  bool                `json:"-"`                          // set by the channel: without the rights that others have delegated; not recorded
	OnBehalfOf     string              `json:"on_behalf_of,omitempty"`     // the reviewer in whose place they decide, set by the gate
	OnBehalfUser   string              `json:"on_behalf_user,omitempty"`   // as principals name that person, set by the gate
	OnBehalfGroups []string            `json:"on_behalf_groups,omitempty"` // that then give the right to decide, set by the gate
	Fills          []int               `json:"fills,omitempty"`            // of an approval: indexes of the demands that it counts for, set by the gate
	Channel        string              `json:"channel,omitempty"`          // "rest", "nats", ...
	Window         string              `json:"window,omitempty"`           // of approve: opens a trust window for this time, such as "15m"; at most MaxWindow
	Confirm        string              `json:"confirm,omitempty"`          // of an approval: what the reviewer typed, where Details.Confirm asks for it
	Assertion      json.RawMessage     `json:"-"`                          // of an approval: that of a passkey for this decision, where Details.Passkey asks for it; not recorded
	Passkey        string              `json:"passkey,omitempty"`          // of an approval: the id of the passkey that confirmed it, set by the gate
	Patterns       []string            `json:"patterns,omitempty"`
	GrantExpiresAt *time.Time          `json:"grant_expires_at,omitempty"` // of the grant; given to the gate, nil is DefaultGrantTime from now and NeverExpires no end; recorded, nil is no end
	Scope          GrantScope          `json:"scope,omitempty"`            // of the grant
	Template       string              `json:"template,omitempty"`         // of the grant
	GrantID        string              `json:"grant_id,omitempty"`         // of the grant that was written, set by the gate
	Response                           // of answer
	Responses      map[string]Response `json:"responses,omitempty"` // of answer, to a combined request: by the ids of the questions
	Save           bool                `json:"save,omitempty"`
	Rule           string              `json:"rule,omitempty"` // what decided in the reviewer's name, "grant ID", set by the gate; "": the reviewer
	DecidedAt      time.Time           `json:"decided_at"`     // UTC, set by the gate
}

// answerSize returns the bytes of an answer.
func (d *Decision) answerSize() int {
	n := d.Response.size()
	for _, r := range d.Responses {
		n += r.size()
	}
	return n
}

func (r *Response) size() int {
	n := len(r.Answer)
	for _, one := range r.Selected {
		n += len(one)
	}
	for name, value := range r.Values {
		n += len(name) + len(value)
	}
	return n
}
