package turn

import (
	"context"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/parking"
	"github.com/heldcall/heldcall/proxy/results"
	"github.com/heldcall/heldcall/proxy/trace"
)

// review is the calls of one answer from the judge to their rulings.
type review struct {
	engine       *Engine
	conversation *conversation.Conversation
	spans        *trace.Spans

	calls    []*judgedCall       // in the order of [intercept.Answer.Calls]
	asked    []*judgedCall       // those that people are asked about
	requests []approvals.Request // about them, until they are recorded
	hold     *gate.Hold          // nil when no people are asked
	parking  parking.Deadline    // of the hold
	decided  time.Time           // when the last of them answered, zero for none
	outcome  approvals.Outcome   // of the turn's last call that has ended, "" for none
	earlier  *results.Earlier    // the calls before the answer; nil: not needed yet

	unsettled      []string // ids of the turn's own requests whose approvals have had no effect yet
	otherCancelled bool     // the turn failed because one of its requests was cancelled
}

// rules are those that judge the calls of the agent.
func (r *review) rules() Judge { return r.engine.Judge(r.conversation.Request.Client) }

// begin begins the review of the calls of another answer, after those of it that have left.
func (r *review) begin() {
	r.calls = r.early()
	r.asked, r.requests, r.hold, r.decided, r.earlier = nil, nil, nil, time.Time{}, nil
	r.conversation.Denials.Begin()
}

// judgeCalls judges every call of the answer, and makes the requests to people about those
// that policy does not decide.
func (r *review) judgeCalls(ctx context.Context, calls []intercept.Call, answer *intercept.Answer) *intercept.Error {
	denials := &r.conversation.Denials
	if refusal := denials.Load(ctx); refusal != nil {
		return refusal
	}
	rules, from := r.rules(), originOf(r.conversation)
	for _, c := range calls {
		if tool := r.questionTool(c); tool != "" {
			if refusal := r.askQuestion(ctx, c, tool, denials.Notes(), answer); refusal != nil {
				return refusal
			}
			continue
		}
		judged, err := rules.Judge(ctx, from, c, denials.Notes())
		if err != nil {
			return errNotCounted(err)
		}
		if r.refuseMisplaced(c, judged.Verdict) {
			judged.Charge.Return()
			continue
		}
		j := &judgedCall{call: c, verdict: judged.Verdict, policy: judged.Policy, again: judged.DeniedBefore, charge: judged.Charge}
		r.calls = append(r.calls, j)
		r.engine.metrics.verdict(j.verdict.Said())
		r.logShadowed(j)
		switch {
		case j.again:
			j.rule(intercept.Deny, approvals.OutcomeDeniedByPerson, notice.DeniedAgain(c.Name, judged.Note))
		case j.verdict.Action == policy.Allow:
			j.rule(intercept.Release, approvals.OutcomeAllowedByRule, "")
			j.rewrite()
		case j.verdict.Action == policy.Deny:
			j.deny(approvals.OutcomeDeniedByRule, "", notice.DeniedByRule(c.Name, j.verdict.Reason))
		default:
			request, refusal := j.rejoin(ctx, &r.conversation.Hidden, r.requests)
			if refusal != nil {
				return refusal
			}
			if j.released() {
				continue
			}
			if request == nil {
				request = new(r.newRequest(j, answer))
				if names := rules.Secrets(from, j.shown()); len(names) > 0 {
					_, refused := rules.InsertSecrets(from, j.shown(), names)
					showSecrets(request, names, refused)
				}
				if refusal := r.askOnce(ctx, j, request, answer); refusal != nil {
					return refusal
				}
			}
			r.asked, r.requests = append(r.asked, j), append(r.requests, *request)
		}
	}
	r.hurryQuestions()
	return nil
}

// askOnce replaces a new request about a call of an answer that upstream keeps by that of an earlier
// turn with the same answer, if there is one. Two equal calls of one answer have two requests.
func (r *review) askOnce(ctx context.Context, j *judgedCall, q *approvals.Request, answer *intercept.Answer) *intercept.Error {
	kept, call := answer.Kept(), j.call.ID+" "+judge.Key(j.call)
	equal := func(other *judgedCall) bool { return other != j && other.call.ID+" "+judge.Key(other.call) == call }
	if kept == "" || slices.ContainsFunc(r.calls, equal) {
		return nil
	}
	prepared := []approvals.Request{*q}
	r.engine.Gate.Prepare(prepared)
	asked, refusal := r.conversation.AskOnce(ctx, kept, call, &prepared[0])
	*q = asked
	return refusal
}

// abort gives every call that has not left the ruling that ends the run.
func (r *review) abort(note string) {
	for _, j := range r.calls {
		if !j.left {
			j.rule(intercept.Abort, approvals.OutcomeAborted, notice.RunAborted(note))
		}
	}
}

// endAfterDenials ends the answer where too many calls were denied since the user wrote:
// it is time to ask the user.
func (r *review) endAfterDenials() {
	all, most := r.conversation.Denials.Deny(deniedAmong(r.calls)), r.engine.Limits.MaxDenials
	if most == 0 || all == 0 || all < most {
		return
	}
	for _, j := range r.calls {
		j.ruling.UserMessage = notice.DeniedTooOften(all)
	}
}

// maxDeniedNotes bounds the notes that are remembered of one answer. People are asked
// again about a call beyond it.
const maxDeniedNotes = 50

// deniedAmong counts the denied calls and collects the notes of reviewers.
func deniedAmong(calls []*judgedCall) conversation.Denied {
	var denied conversation.Denied
	for _, j := range calls {
		byPerson := j.outcome == approvals.OutcomeDeniedByPerson
		if !byPerson && j.outcome != approvals.OutcomeDeniedByRule {
			continue
		}
		denied.Count++
		if byPerson && !j.again && len(denied.Notes) < maxDeniedNotes {
			if denied.Notes == nil {
				denied.Notes = make(map[string]string)
			}
			d, _ := j.decision()
			denied.Notes[judge.Key(j.call)] = results.Excerpt(d.Note)
		}
	}
	return denied
}

// rulings are the rulings on all calls that have not left.
func (r *review) rulings() []intercept.Ruling {
	rulings := make([]intercept.Ruling, 0, len(r.calls))
	for _, j := range r.calls {
		if !j.left {
			rulings = append(rulings, j.ruling)
		}
	}
	return rulings
}

// keepCharges makes the charges of the calls against limits final. Denied calls are not
// charged.
func (r *review) keepCharges() {
	for _, j := range r.calls {
		if !j.released() {
			j.charge.Return()
		}
		j.charge.Keep()
	}
}

// release returns the charges that are not final, and cancels the requests of a turn that a fault
// has ended. The charges of a turn that may continue for another connection stay: it is not
// charged again.
func (r *review) release(ctx context.Context, continues bool) {
	for _, j := range r.calls {
		if continues {
			j.charge.Keep()
		}
		j.charge.Return()
	}
	if r.hold != nil {
		r.cancel(ctx, approvals.CancelFault)
	}
}

// count adds the calls that leave now to the metrics. It returns the outcome of the turn, "" if the calls do not change it.
func (r *review) count() (outcome string) {
	for _, j := range r.calls {
		if j.left {
			continue
		}
		r.countCall(j)
		switch {
		case j.ruling.Action == intercept.Abort:
			outcome = outcomeAborted
		case j.outcome == approvals.OutcomeParked && outcome != outcomeAborted:
			outcome = outcomeParked
		case j.ruling.Action != intercept.Release && outcome == "":
			outcome = outcomeChanged
		}
	}
	if !r.decided.IsZero() {
		r.engine.metrics.release.Observe(time.Since(r.decided).Seconds())
	}
	return outcome
}

// countCall adds a call to the metrics, and reports the grants that decided it.
func (r *review) countCall(j *judgedCall) {
	r.engine.metrics.outcome(j.outcome)
	r.outcome = j.outcome
	if j.outcome == approvals.OutcomeDeniedByRule {
		r.engine.metrics.deniedBy(j.verdict)
	}
	byRule := j.outcome == approvals.OutcomeAllowedByRule || j.outcome == approvals.OutcomeDeniedByRule
	if byRule && len(j.verdict.Grants) > 0 && r.engine.Used != nil {
		r.engine.Used(j.verdict.Grants...)
	}
}

// notReleased records that approved calls are not released, once the rulings on them are recorded.
func (r *review) notReleased() {
	for _, j := range r.calls {
		if j.request == nil || j.released() || j.outcome == approvals.OutcomeParked {
			continue
		}
		reason := approvals.NotReleasedRunStopped
		if j.outcome == approvals.OutcomeDeniedByRule {
			reason = approvals.NotReleasedDenied
		}
		r.conversation.Results.NotReleased(reason, j.request.ID)
	}
}

// approvedAmong returns the requests about calls that people have approved and the agent gets.
func approvedAmong(calls []*judgedCall) (released []*approvals.Request) {
	for _, j := range calls {
		if j.request == nil || !j.released() {
			continue
		}
		r := j.request
		if r.ToolCallID != j.call.ID { // it was parked, and the model has made it again
			again := *r
			again.Details.Result = &approvals.CallResult{ToolCallID: j.call.ID}
			r = &again
		}
		released = append(released, r)
	}
	return released
}

// gotten returns the calls that the agent gets, as they run.
func (r *review) gotten() (calls []intercept.Call) {
	for _, j := range r.calls {
		if !j.released() {
			continue
		}
		calls = append(calls, j.gotten())
	}
	return calls
}

// leave reports the calls that the agent gets now, among some, as they run.
func (r *review) leave(calls []*judgedCall) {
	if r.engine.Left == nil {
		return
	}
	var now []intercept.Call
	for _, j := range calls {
		if !j.left && j.released() {
			now = append(now, j.gotten())
		}
	}
	if len(now) > 0 {
		r.engine.Left(r.conversation, now)
	}
}

// logShadowed logs the verdict of a policy in shadow mode.
func (r *review) logShadowed(j *judgedCall) {
	if v := &j.verdict; v.Shadowed != "" {
		r.engine.Log.Info("shadow: the policy would not have let this call pass", "verdict", v.Shadowed, "tool", j.call.Name,
			"rule", v.Rule, "reason", v.Reason, "run", r.conversation.Identity().Run, "turn", r.conversation.Request.Turn)
	}
}

// traceDecided makes the spans of the decisions.
func (r *review) traceDecided(began time.Time, failed error) {
	if r.spans == nil {
		return
	}
	decisions := make([]trace.Decision, 0, len(r.calls))
	for _, j := range r.calls {
		decisions = append(decisions, j.traced(slices.Index(r.asked, j)))
	}
	r.spans.Decided(decisions, began, failed)
}
