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

// Kind is what a request asks for.
type Kind string

// The kinds of request.
const (
	KindPermission    Kind = "permission"
	KindClarification Kind = "clarification"
	KindDecision      Kind = "decision"
	KindEnvVar        Kind = "env_var"
	KindCombined      Kind = "combined"
	KindResult        Kind = "result" // may the model read this result of a tool? Arguments is the text
)

// Status is the state of a request. Every status but [StatusPending] is final.
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

// Tool is the description of a tool that the agent sent to the model.
type Tool struct {
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema
}

// Context is what a reviewer needs to understand a call.
type Context struct {
	LastUserMessage string `json:"last_user_message,omitempty"`
	AssistantText   string `json:"assistant_text,omitempty"` // of the model, before the call
	Steps           []Step `json:"steps,omitempty"`          // that led to the call, the last [MaxSteps], oldest first
}

// Values of on_timeout: what happens to a request that is not decided in time.
const (
	OnTimeoutDeny    = "deny"
	OnTimeoutApprove = "approve"
)

// Request is one question to people. It is also the NATS payload of a new request.
// Lists contain the result of [Request.Abridged].
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
	Arguments         json.RawMessage `json:"arguments"` // an object; null if Details.Abridged; a string if the model's text is not strict JSON, or nested too deep for many parsers
	Resource          string          `json:"resource"`
	ArgsPreview       string          `json:"args_preview"`
	Tool              Tool            `json:"tool"`
	Title             string          `json:"title"`
	Description       string          `json:"description"`
	RiskLevel         Risk            `json:"risk_level"`
	Effects           []Effect        `json:"effects,omitempty"` // of the call; none: unknown, or the request is not about a call
	Reason            string          `json:"reason"`            // of the policy, for asking
	Rule              string          `json:"rule"`              // file:line of the rule that asks, or "default"
	SuggestedPatterns []string        `json:"suggested_patterns"`
	Context           Context         `json:"context"`
	AllowRemember     bool            `json:"allow_remember"`
	RememberScopes    []GrantScope    `json:"remember_scopes,omitempty"` // of a grant; none: any
	Reviewers         []string        `json:"reviewers"`
	RequiredApprovals int             `json:"required_approvals"`
	Demands           []Demand        `json:"demands,omitempty"` // only if rules that name different groups ask
	CreatedAt         time.Time       `json:"created_at"`        // UTC
	ExpiresAt         time.Time       `json:"expires_at"`        // UTC
	OnTimeout         string          `json:"on_timeout"`        // OnTimeoutDeny or OnTimeoutApprove
	Decisions         []Decision      `json:"decisions"`
	Details           Details         `json:"details"`
	// Outcome is the effect of the approval of a call, nil for other requests. The record has it once the call is released
	// or is known not to be; before, it is added when the request is served.
	Outcome *ApprovalOutcome `json:"outcome,omitempty"`
	// Agent is the agent's side of the turn while it is stored. It is added when the request
	// is served and is not part of the record.
	Agent *AgentState `json:"agent,omitempty"`
	// Together is the same text in pending requests that may be shown as one question with one
	// answer, "" if the request is decided by itself: see [Request.TogetherKey]. It is added when
	// the request is served and is not part of the record.
	Together string `json:"together,omitempty"`
	// Actions are the answers that a pending request takes, nil for others. They are added when the request is served
	// and are not part of the record.
	Actions *Actions `json:"actions,omitempty"`
}

// DescribePending sets what a pending request has only while it is served.
func (r *Request) DescribePending() {
	r.Together, r.Actions = r.TogetherKey(), nil
	if !r.Status.Final() {
		actions := r.ActionsOf()
		r.Actions = &actions
	}
}

// Details has the fields that only some requests need.
type Details struct {
	// Flags warn the reviewer, each in one sentence: of arguments that two parsers could
	// read differently, of an answer that was cut off. See [FoldFlag].
	Flags []string `json:"flags,omitempty"`
	// Commands are the commands in a shell script, at any depth and with the commands
	// that they run. Parts that only a shell can expand are shown as ….
	Commands []string `json:"commands,omitempty"`
	// RawArguments is the text that the model wrote if Arguments is another text.
	RawArguments string `json:"raw_arguments,omitempty"`
	// Doubts are reasons why clients may read the call on the wire differently, each in
	// one sentence. Flags contains them too.
	Doubts []string `json:"doubts,omitempty"`
	// Policy is the name of the policy that judges the call, that of its client: the end
	// of the path of its file that no other policy has. It is "" in requests that were
	// recorded before this field existed.
	Policy string `json:"policy,omitempty"`
	// Remember has the default terms of a remembered decision; nil if decisions are not
	// remembered.
	Remember *GrantTerms `json:"remember,omitempty"`
	// ByDefault is true if no rule asks about the call, but a default or the risk of the tool.
	ByDefault bool `json:"by_default,omitempty"`
	// DenyOnly is true if a remembered decision can only deny: a rule asks, whatever is allowed.
	DenyOnly bool `json:"deny_only,omitempty"`
	// Window is true if a trust window would cover the call. An approval may open one: see [Decision].
	Window bool `json:"window,omitempty"`
	// Folder is the repository outside of the workspace in which the call works, if it would be allowed with that folder in
	// the workspace of its run: see [RunFolder]. It is "" for others.
	Folder string `json:"folder,omitempty"`
	// Files has the facts about the files that the call writes, in their order. Files about which heldcall knows nothing are left out.
	Files []File `json:"files,omitempty"`
	// Confirm is what a reviewer must type to approve the request, in the field confirm of
	// the decision; "": nothing. See [ConfirmationOf].
	Confirm string `json:"confirm,omitempty"`
	// Passkey is true if an approval needs the passkey of the reviewer: see
	// [Decision.Assertion].
	Passkey bool `json:"passkey,omitempty"`
	// CancelReason is the reason why the request was cancelled: agent_gone, agent_restarted,
	// run_aborted, not_recorded or internal_error.
	CancelReason string `json:"cancel_reason,omitempty"`
	// EndedAt is the time at which the request became final, UTC; nil while it is pending.
	EndedAt *time.Time `json:"ended_at,omitempty"`
	// Escalation lets more groups decide if the request stays pending. If the request has
	// demands, each has its own.
	Escalation *Escalation `json:"escalation,omitempty"`
	// Result is what happened to an approved call after its release; nil before that, and
	// if results are not recorded.
	Result *CallResult `json:"result,omitempty"`
	// Tainted is the cause if the run has read a result that the policy does not trust: which
	// result, and by which pattern. It is "" for other runs.
	Tainted string `json:"tainted,omitempty"`
	// Subagent is the agent at the provider that makes the call, if a request lets it run several; "" for none.
	Subagent string `json:"subagent,omitempty"`
	// Restarted is the request in whose place this one asks; nil: there is none.
	Restarted *Restarted `json:"restarted,omitempty"`
	// Secrets are the names of the secrets whose values the call gets if it is approved.
	Secrets []string `json:"secrets,omitempty"`
	// FreeText is true if the input of the tool is free text by contract.
	FreeText bool `json:"free_text,omitempty"`
	// Questions are those of a model to people, in a request of another kind than
	// permission. They are nil if the request is abridged.
	Questions []Question `json:"questions,omitempty"`
	// Fixed is true if the arguments cannot be edited: the provider runs the tool, or the
	// wire format has no place for others.
	Fixed bool `json:"fixed,omitempty"`
	// Abridged is true if this is a large request in a list or an event stream. It has
	// its arguments when it is read by its id.
	Abridged bool `json:"abridged,omitempty"`
}

// Escalation adds groups to the Reviewers of a request or a demand at a time.
type Escalation struct {
	At          time.Time  `json:"at"` // UTC
	To          []string   `json:"to"` // groups
	EscalatedAt *time.Time `json:"escalated_at,omitempty"`
}

// Size returns the bytes of the fields of a request that may be large.
func (r *Request) Size() int {
	n := len(r.Arguments) + len(r.Resource) + len(r.Tool.Description) + len(r.Tool.Parameters) + len(r.Details.RawArguments)
	for _, command := range r.Details.Commands {
		n += len(command)
	}
	for i := range r.Details.Files {
		n += len(r.Details.Files[i].Path) + len(r.Details.Files[i].Text) + 4*len(r.Details.Files[i].Lines)
	}
	if r.Asks() {
		n += len(r.Arguments) // the questions have the texts of the arguments
	}
	for i := range r.Decisions {
		n += len(r.Decisions[i].ModifiedArgs) + len(r.Decisions[i].Note) + r.Decisions[i].answerSize()
	}
	return n
}

// DefaultTitle returns the title of a request for a tool if no rule sets one.
func DefaultTitle(tool string) string { return "Allow " + cmp.Or(tool, "a call without a name") + "?" }

// RuleTitle returns the title that a rule has set, "" if none has.
func (r *Request) RuleTitle() string {
	if r.Title == DefaultTitle(r.ToolName) {
		return ""
	}
	return r.Title
}

// FinalDecision returns the decision that ended the request, if one did.
func (r *Request) FinalDecision() (Decision, bool) {
	if !r.Status.Final() || len(r.Decisions) == 0 {
		return Decision{}, false
	}
	return r.Decisions[len(r.Decisions)-1], true
}

// TimeoutOutcome returns the end of the call if the request is not decided in time: "not
// run" or "run", and of a question "answered with the default" or "not answered".
func (r *Request) TimeoutOutcome() string {
	switch {
	case r.HasDefaults():
		return "answered with the default"
	case r.Asks():
		return "not answered"
	case r.OnTimeout == OnTimeoutApprove:
		return "run"
	}
	return WordsFor(r.Kind).Unless
}
