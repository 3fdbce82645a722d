package turn

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/proxy/trace"
)

// judgedCall is one call with its verdict, and with its ruling when it has one.
type judgedCall struct {
	call     intercept.Call
	verdict  policy.Verdict
	ruling   intercept.Ruling
	outcome  approvals.Outcome
	policy   string             // that judged it: see [approvals.Details]
	again    bool               // a person has denied an equal call before
	left     bool               // it has left before the end of the answer
	charge   policy.Charge      // against the limits of rules
	secrets  []string           // whose values the agent gets with it
	request  *approvals.Request // in its final state, nil if people were not asked
	question bool               // it asks people, and the agent never gets it
	twin     *judgedCall        // an equal question before it in the answer, whose request is for both
}

// decision is what people decided, if they did.
func (j *judgedCall) decision() (d approvals.Decision, ok bool) {
	if j.request == nil {
		return d, false
	}
	return j.request.FinalDecision()
}

// released reports whether the agent gets the call.
func (j *judgedCall) released() bool {
	return j.ruling.Action == intercept.Release || j.ruling.Action == intercept.Edit
}

// gotten is the released call as it runs.
func (j *judgedCall) gotten() intercept.Call {
	c := j.call
	if j.ruling.Action == intercept.Edit {
		c.Arguments = j.ruling.Arguments
	}
	return c
}

// starts returns the first message to the agent that the call starts, "" for another call and one that the agent does not get.
func (j *judgedCall) starts() string {
	if j.verdict.Starts == "" || !j.released() {
		return ""
	}
	arguments := j.call.Arguments
	if j.ruling.Action == intercept.Edit {
		arguments = j.ruling.Arguments
	}
	var members map[string]any
	if json.Unmarshal([]byte(arguments), &members) != nil {
		return "" // the agent cannot read it either
	}
	message, _ := members[j.verdict.Starts].(string)
	return message
}

// deny denies a call. The model reads the denial text of the rule, else the usual text.
func (j *judgedCall) deny(outcome approvals.Outcome, note, usual string) {
	d, _ := j.decision()
	text := j.verdict.Denial.Denied(policy.Denied{Outcome: outcome, Note: note, Reviewer: d.ReviewerID})
	j.rule(intercept.Deny, outcome, cmp.Or(text, usual))
}

// rewrite releases a call as rewrite rules have changed it, if they have.
func (j *judgedCall) rewrite() {
	if j.verdict.Arguments == "" {
		return
	}
	why := fmt.Sprintf("the rule at %s", j.verdict.RewrittenBy)
	j.ruling = intercept.Ruling{Action: intercept.Edit, Arguments: j.verdict.Arguments, ModelMessage: notice.ArgumentsRewritten(j.call.Name, why)}
}

// release releases a call whose request was approved unchanged.
func (j *judgedCall) release(d approvals.Decision) {
	outcome := approvals.OutcomeAllowedByPerson
	switch d.ReviewerID {
	case approvals.ReviewerTimeout:
		outcome = approvals.OutcomeAllowedByTimeout
	case approvals.ReviewerPolicy:
		outcome = approvals.OutcomeAllowedByRule
	}
	j.rule(intercept.Release, outcome, "")
	j.rewrite()
}

// shown is the call as people are asked about it: as rewrite rules have changed it.
func (j *judgedCall) shown() intercept.Call {
	c := j.call
	c.Arguments = cmp.Or(j.verdict.Arguments, c.Arguments)
	return c
}

func (j *judgedCall) rule(action intercept.Action, outcome approvals.Outcome, message string) {
	j.ruling = intercept.Ruling{Action: action, ModelMessage: message}
	j.outcome = outcome
}

// judged is the call as the judge has judged it.
func (j *judgedCall) judged() *judge.Case { return &judge.Case{Verdict: j.verdict, Policy: j.policy} }

// doubts are those of [judge.Case.Doubts].
func (j *judgedCall) doubts() []string { return j.judged().Doubts(j.call) }

// edited is the value of the arguments that the call is released with.
func (j *judgedCall) edited() json.RawMessage {
	c := j.call
	c.Arguments = j.ruling.Arguments
	return judge.ArgumentsValue(c)
}

// shadowNote is the note about the verdict of a policy in shadow mode that would not have
// allowed the call.
func (j *judgedCall) shadowNote() string {
	if j.verdict.Shadowed == "" {
		return ""
	}
	return fmt.Sprintf("shadow: the policy's verdict is %s: %s", j.verdict.Shadowed, j.verdict.Reason)
}

// traced is the call as a span shows it; held is the index of its request, -1 for none.
func (j *judgedCall) traced(held int) trace.Decision {
	c := j.call
	if j.ruling.Action == intercept.Edit {
		c.Arguments = j.ruling.Arguments
	}
	by, _ := j.decision()
	return trace.Decision{Call: c, Held: held, Outcome: j.outcome, Verdict: j.verdict.Said(), Rule: j.verdict.Rule, By: by}
}
