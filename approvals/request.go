// Package approvals is the domain: a question to people ([Request]), an answer
// ([Decision]), an entry of the audit log ([Event]), the state of a task ([Run]), a
// remembered decision ([Grant]), and the interfaces of their store ([Store],
// [GrantStore]). Package gate asks people and waits for them; package grants keeps
// grants. It knows no HTTP and no wire dialect. Read request.go, decision.go and
// demand.go first.
package approvals

import (
	"cmp"
	"encoding/json"
	"time"
)

// Kind says what a request asks for.
type Kind string

// The kinds of request.
const (
	KindPermission    Kind = "permission"
	KindClarification Kind = "clarification"
	KindDecision      Kind = "decision"
	KindEnvVar        Kind = "env_var"
	KindCombined      Kind = "combined"
)

// Status is where a request stands. Every status but [StatusPending] is final.
type Status string

// The statuses of a request.
const (
	StatusPending   Status = "pending"
	StatusApproved  Status = "approved"
	StatusDenied    Status = "denied"
	StatusAnswered  Status = "answered"
	StatusExpired   Status = "expired"
	StatusCancelled Status = "cancelled"
)

// Final reports whether a request in this status can no longer be decided.
func (s Status) Final() bool { return s != StatusPending }

// Risk is how much harm a call can do.
type Risk string

// The risk levels, in rising order.
const (
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

// Principal is who an agent acts for. It comes from configuration, never from
// what a model wrote.
type Principal struct {
	Tenant string `json:"tenant"`
	User   string `json:"user"`
	Agent  string `json:"agent"`
}

// Tool is what the agent told the model about a tool.
type Tool struct {
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema
}

// Context is what a reviewer needs to understand a call.
type Context struct {
	LastUserMessage string `json:"last_user_message,omitempty"`
	AssistantText   string `json:"assistant_text,omitempty"` // what the model said just before
}

// What happens to a request that nobody answered in time.
const (
	OnTimeoutDeny    = "deny"
	OnTimeoutApprove = "approve"
)

// Request is one question to people. It is also the NATS payload of a new
// request and, as [Request.Abridged] returns it, the item of lists.
type Request struct {
	ID                string          `json:"id"` // ULID
	Kind              Kind            `json:"kind"`
	Status            Status          `json:"status"`
	Principal         Principal       `json:"principal"`
	SessionID         string          `json:"session_id"`
	RunID             string          `json:"run_id"`
	TurnID            string          `json:"turn_id"`
	Dialect           string          `json:"dialect"`
	Model             string          `json:"model"`
	ToolCallID        string          `json:"tool_call_id"`
	ToolName          string          `json:"tool_name"`
	Arguments         json.RawMessage `json:"arguments"` // an object; null where Details.Abridged; or a string where the model's text is not strict JSON, or nested too deep for many readers
	Resource          string          `json:"resource"`
	ArgsPreview       string          `json:"args_preview"`
	Tool              Tool            `json:"tool"`
	Title             string          `json:"title"`
	Description       string          `json:"description"`
	RiskLevel         Risk            `json:"risk_level"`
	Reason            string          `json:"reason"` // why policy asks
	Rule              string          `json:"rule"`   // file:line of the rule that asks, or "default"
	SuggestedPatterns []string        `json:"suggested_patterns"`
	Context           Context         `json:"context"`
	AllowRemember     bool            `json:"allow_remember"`
	RememberScopes    []GrantScope    `json:"remember_scopes,omitempty"` // that a grant may have; none: any
	Reviewers         []string        `json:"reviewers"`
	RequiredApprovals int             `json:"required_approvals"`
	Demands           []Demand        `json:"demands,omitempty"` // where rules that name different groups ask; else Reviewers and RequiredApprovals say all
	CreatedAt         time.Time       `json:"created_at"`        // UTC
	ExpiresAt         time.Time       `json:"expires_at"`        // UTC
	OnTimeout         string          `json:"on_timeout"`        // OnTimeoutDeny or OnTimeoutApprove
	Decisions         []Decision      `json:"decisions"`
	Details           Details         `json:"details"`
}

// Details holds what is true of some requests only.
type Details struct {
	// Flags warn the reviewer, each in one sentence: arguments that two parsers
	// could read differently, an answer that was cut off, and the like.
	Flags []string `json:"flags,omitempty"`
	// Commands are the commands found in a shell command, at any depth and with
	// those that they run, with … for what only a shell can tell.
	Commands []string `json:"commands,omitempty"`
	// RawArguments is the text the model wrote where Arguments is not that text.
	RawArguments string `json:"raw_arguments,omitempty"`
	// Doubts are why clients may read the call on the wire in different ways, each in
	// one sentence. They are among Flags too.
	Doubts []string `json:"doubts,omitempty"`
	// Policy is the name of the policy that judges the call: that of the client which
	// made it. It is the name of its file, with so many directories as tell it from
	// others; "" in requests recorded before there was this field.
	Policy string `json:"policy,omitempty"`
	// Remember is what a decision is remembered as unless its reviewer names something
	// else; nil where it is not remembered.
	Remember *GrantTerms `json:"remember,omitempty"`
	// CancelReason says why a cancelled request ended: agent_gone, run_aborted,
	// not_recorded or internal_error.
	CancelReason string `json:"cancel_reason,omitempty"`
	// EndedAt is when the request became final, UTC; nil while it is pending.
	EndedAt *time.Time `json:"ended_at,omitempty"`
	// Escalation says who may decide too when nobody has for a while. Each of
	// the request's demands has its own.
	Escalation *Escalation `json:"escalation,omitempty"`
	// FreeText is true where the tool's input is free text by contract.
	FreeText bool `json:"free_text,omitempty"`
	// Fixed is true where the arguments cannot be edited: the provider runs the
	// tool, or the wire has no place for others.
	Fixed bool `json:"fixed,omitempty"`
	// Abridged is true in lists and event streams where the request is large: it is
	// without its arguments there, and has them when it is read by its id.
	Abridged bool `json:"abridged,omitempty"`
}

// Escalation is who may decide a request too, or fill a demand, once a time has come.
// Then the groups stand in its Reviewers.
type Escalation struct {
	At          time.Time  `json:"at"` // UTC
	To          []string   `json:"to"` // groups
	EscalatedAt *time.Time `json:"escalated_at,omitempty"`
}

// Size is how many bytes the fields of a request have that may be large.
func (r *Request) Size() int {
	n := len(r.Arguments) + len(r.Resource) + len(r.Tool.Description) + len(r.Tool.Parameters) + len(r.Details.RawArguments)
	for _, command := range r.Details.Commands {
		n += len(command)
	}
	for i := range r.Decisions {
		n += len(r.Decisions[i].ModifiedArgs) + len(r.Decisions[i].Note)
	}
	return n
}

// DefaultTitle is the title of a request to use a tool where no rule has one.
func DefaultTitle(tool string) string { return "Allow " + cmp.Or(tool, "a call without a name") + "?" }

// RuleTitle is the title that a rule gives the request, "" where none does.
func (r *Request) RuleTitle() string {
	if r.Title == DefaultTitle(r.ToolName) {
		return ""
	}
	return r.Title
}

// FinalDecision is the decision that ended the request, if one did.
func (r *Request) FinalDecision() (Decision, bool) {
	if !r.Status.Final() || len(r.Decisions) == 0 {
		return Decision{}, false
	}
	return r.Decisions[len(r.Decisions)-1], true
}

// Silence says what becomes of the call of a request that nobody answers in time:
// "not run" or "run".
func (r *Request) Silence() string {
	if r.OnTimeout == OnTimeoutApprove {
		return "run"
	}
	return "not run"
}
