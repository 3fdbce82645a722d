package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Actions are the answers that a pending request takes. Each has its Reason if it is not possible, in one sentence. What
// a reviewer may do depends on their rights too. The gate refuses the others, with the same reasons.
type Actions struct {
	Approve ActionState  `json:"approve"` // of a result: the model reads it
	Deny    ActionState  `json:"deny"`
	Edit    ActionState  `json:"edit"`   // modify_args
	Answer  ActionState  `json:"answer"` // of a call: in words, and the call does not run
	Always  AlwaysAction `json:"always"` // allow_always
	Never   AlwaysAction `json:"never"`  // deny_always
	Window  ActionState  `json:"window"` // approve with a trust window
	Batch   ActionState  `json:"batch"`  // approve without more, as for several requests at once
}

// ActionState is whether an action is possible.
type ActionState struct {
	Reason string `json:"reason"` // why it is not; "": it is possible
}

// AlwaysAction is whether a decision can be remembered, and as what.
type AlwaysAction struct {
	ActionState
	Patterns []string `json:"patterns,omitempty"` // suggested ones; none: the reviewer writes them
}

// ActionsOf returns the answers that the request takes while it is pending.
func (r *Request) ActionsOf() Actions {
	return Actions{
		Approve: ActionState{r.whyNotApprove()},
		Edit:    ActionState{r.whyNotEdit()},
		Answer:  ActionState{r.whyNotAnswer()},
		Always:  r.remembered(cmp.Or(r.whyNotRemember(), r.whyNotAllow())),
		Never:   r.remembered(r.whyNotRemember()),
		Window:  ActionState{r.whyNoWindow()},
		Batch:   ActionState{r.whyAlone()},
	}
}

// remembered returns the action that is not possible for a reason, or is with the suggested patterns.
func (r *Request) remembered(reason string) AlwaysAction {
	if reason != "" {
		return AlwaysAction{ActionState: ActionState{reason}}
	}
	return AlwaysAction{Patterns: r.SuggestedPatterns}
}

// CheckPossible refuses a decision that the request does not take. The rights of its reviewer are checked elsewhere.
func (r *Request) CheckPossible(d *Decision) error {
	all := r.ActionsOf()
	field, state := "action", ActionState{}
	switch d.Action {
	case ActionApprove:
		state = all.Approve
		if d.Window != "" && state.Reason == "" {
			field, state = "window", all.Window
		}
	case ActionModifyArgs:
		if state = all.Edit; r.Details.Fixed {
			field = "modified_args"
		}
	case ActionAnswer:
		state = all.Answer
	case ActionAllowAlways:
		state = all.Always.ActionState
	case ActionDenyAlways:
		state = all.Never.ActionState
	}
	if state.Reason != "" {
		return Invalid(field, "%s", strings.TrimSuffix(state.Reason, "."))
	}
	return nil
}

const isQuestion = "This is a question: answer it or decline."

func (r *Request) whyNotApprove() string {
	if r.Asks() {
		return isQuestion
	}
	return ""
}

func (r *Request) whyNotEdit() string {
	switch {
	case r.Asks():
		return "A question has no arguments to edit: answer it or decline."
	case r.Details.Fixed:
		return "The arguments of this call cannot be edited: approve or deny it as it is."
	case r.RequiredApprovals > 1:
		return fmt.Sprintf("It needs %d approvals of the same arguments, so they cannot be edited.", r.RequiredApprovals)
	}
	return ""
}

func (r *Request) whyNotAnswer() string {
	if r.Kind == KindResult {
		return "A result is not answered: edit it, or deny with a reason."
	}
	return ""
}

// whyNotRemember returns why a decision on the request cannot be remembered, or "".
func (r *Request) whyNotRemember() string {
	switch {
	case r.Asks():
		return isQuestion
	case r.Kind == KindResult:
		return "Decisions on results are not remembered."
	case len(r.Details.Doubts) > 0:
		return "The call can be read in more than one way."
	case !r.AllowRemember:
		return "Decisions on this call are not to be remembered (" + r.Rule + ")."
	case r.RequiredApprovals > 1:
		return fmt.Sprintf("It needs %d approvals, so the decision is not to be remembered.", r.RequiredApprovals)
	case len(r.GrantScopesOf()) == 0:
		return "The rule permits to remember for a session only, and the agent names none."
	}
	return ""
}

// whyNotAllow returns why a decision that is remembered can only deny, or "".
func (r *Request) whyNotAllow() string {
	if r.Details.DenyOnly {
		return "Only a denial of such a call can be remembered (" + r.Rule + ")."
	}
	return ""
}

// whyNoWindow returns why an approval cannot open a trust window, or "".
func (r *Request) whyNoWindow() string {
	switch why := r.whyNotRemember(); {
	case why != "":
		return why
	case r.RiskLevel == RiskCritical:
		return "The call is critical, and no trust window covers such calls."
	case r.SessionID == "" || r.RunID == "":
		return "The agent names no run."
	case !r.OneDecides():
		return "Several groups decide, so no trust window opens."
	case !slices.Contains(r.GrantScopesOf(), GrantSession):
		return "The rule permits no remembered decision for a session."
	case !r.Details.Window && !r.Details.ByDefault:
		return "A rule asks about this call, and a trust window does not change that."
	case !r.Details.Window:
		return "A trust window covers what only reads and writes in the workspace, and this call is not known to."
	}
	return ""
}

// whyAlone returns why an approval of the request takes more than the approval, or "".
func (r *Request) whyAlone() string {
	switch {
	case r.Asks():
		return isQuestion
	case r.Details.Confirm != "":
		return "Its approval is confirmed by typing."
	case r.Details.Passkey:
		return "Its approval is confirmed with a passkey."
	}
	return ""
}
