package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// docket is the calls of one turn with what is known of their fate.
type docket struct {
	cases   []*hearing
	hold    *approvals.Hold // nil when nobody is asked
	asked   []*hearing      // in the order of the hold's requests
	before  denied          // what was denied before this turn
	denied  denied          // and of it
	since   time.Time       // when people were asked
	decided time.Time       // when the last of them answered
}

// hearing is one call before judgement.
type hearing struct {
	call    intercept.Call
	verdict policy.Verdict
	ruling  intercept.Ruling
	outcome approvals.Outcome
	again   bool               // a person has denied the same call before
	charge  policy.Charge      // what it has used up of limits
	request *approvals.Request // as it ended, nil where nobody was asked
}

// decision is what people decided, if they did.
func (h *hearing) decision() (d approvals.Decision, ok bool) {
	if h.request == nil {
		return d, false
	}
	return h.request.FinalDecision()
}

// released reports whether the agent gets the call.
func (h *hearing) released() bool {
	return h.ruling.Fate == intercept.Release || h.ruling.Fate == intercept.Edit
}

// policy is what judges the calls of the agent. It is asked for in every exchange, so
// it reads nothing of the conversation.
func (x *exchange) policy() Policy {
	return x.p.options.Policy(x.p.client(&x.fasthttp.Request.Header))
}

// callOf is the call as policy reads it.
func (x *exchange) callOf(c intercept.Call) policy.Call {
	who := x.identity()
	return policy.Call{
		Tool: c.Name, Arguments: c.Arguments, FreeText: c.FreeText, Fixed: c.Fixed, Ambiguous: c.Ambiguous,
		Principal: who.principal, Session: who.session, Run: who.run, Turn: x.turn, Model: who.model, Dialect: x.route.Dialect.Name(),
		Now: time.Now(),
	}
}

// judgeCall asks policy about a call. One that wraps others gets the strictest
// verdict on them, and is asked about where it cannot be read.
func (x *exchange) judgeCall(judged Policy, c intercept.Call) policy.Verdict {
	c = x.doubtServer(judged, c)
	wrapped, ok := c.Wrapped()
	if !ok {
		return judged.Judge(x.callOf(c))
	}
	for i := range wrapped {
		wrapped[i].Fixed = true
	}
	if len(wrapped) == 0 {
		c.Ambiguous = append(slices.Clip(c.Ambiguous), "It wraps other calls in a way that cannot be read with certainty.")
		return judged.Judge(x.callOf(c))
	}
	parts := make([]policy.Verdict, len(wrapped))
	for i, inner := range wrapped {
		parts[i] = judged.Judge(x.callOf(inner))
	}
	all := policy.Together(parts...)
	all.Flags = append(all.Flags, fmt.Sprintf("It wraps %d calls; the rule is the one for the most critical of them.", len(wrapped)))
	return all
}

// passByName decides whether the fragments of a call may pass unbuffered: its
// tool is allowed by name, nobody has paused the run, and the release is in the
// audit log.
func (x *exchange) passByName(c intercept.Call) bool {
	if _, wrapper := c.Wrapped(); wrapper {
		return false
	}
	who := x.identity()
	verdict, ok := x.policy().AllowsByName(who.principal, c.Name)
	if !ok || x.p.options.Gate.RunState(who.run) != approvals.RunRunning {
		return false
	}
	h := &hearing{call: c, verdict: verdict, outcome: approvals.OutcomeAllowedByRule}
	e := x.event(approvals.EventCallAllowed, h)
	e.Note = "allowed by name; the arguments pass as they stream"
	if err := x.p.options.Gate.Record(x.ctx, e); err != nil {
		if x.ctx.Err() == nil {
			x.p.metrics.storeErrors.WithLabelValues("record").Inc()
		}
		return false
	}
	x.p.metrics.verdict(verdict.Action)
	x.p.metrics.outcome(approvals.OutcomeAllowedByRule)
	x.spans.passed(h)
	return true
}

// judge asks policy about every call of the turn and, where it does not decide,
// people.
func (x *exchange) judge() state {
	x.docket = docket{}
	calls := x.answer.Calls()
	if len(calls) == 0 {
		return (*exchange).proceed
	}
	return apart(func(x *exchange) state { return x.hear(calls) })
}

func (x *exchange) hear(calls []intercept.Call) state {
	var refusal *intercept.Error
	if x.docket.before, refusal = x.deniedSoFar(); refusal != nil {
		return x.fail(refusal)
	}
	var requests []approvals.Request
	judged := x.policy()
	for _, c := range calls {
		h := &hearing{call: c, verdict: x.judgeCall(judged, c)}
		x.docket.cases = append(x.docket.cases, h)
		note := ""
		if note, h.again = x.docket.before.before(x, c); !h.again {
			x.limit(h)
		}
		x.p.metrics.verdict(h.verdict.Said())
		x.logShadowed(h)
		switch {
		case h.again:
			h.rule(intercept.Deny, approvals.OutcomeDeniedByPerson, intercept.DeniedAgain(c.Name, note))
		case h.verdict.Action == policy.Allow:
			h.rule(intercept.Release, approvals.OutcomeAllowedByRule, "")
			h.rewrite()
		case h.verdict.Action == policy.Deny:
			h.deny(approvals.OutcomeDeniedByRule, "", intercept.DeniedByRule(c.Name, h.verdict.Reason))
		default:
			x.docket.asked = append(x.docket.asked, h)
			requests = append(requests, x.request(h))
		}
	}
	if len(requests) == 0 {
		return (*exchange).proceed
	}
	return x.ask(requests)
}

// deny denies a call. The model is told what the rule says of that, else the
// usual.
func (h *hearing) deny(outcome approvals.Outcome, note, usual string) {
	d, _ := h.decision()
	told := h.verdict.Denial.Text(policy.Denied{Outcome: outcome, Note: note, Reviewer: d.ReviewerID})
	h.rule(intercept.Deny, outcome, cmp.Or(told, usual))
}

// rewrite releases a call as rewrite rules have changed it, if they have.
func (h *hearing) rewrite() {
	if h.verdict.Arguments == "" {
		return
	}
	why := fmt.Sprintf("the rule at %s", h.verdict.RewrittenBy)
	h.ruling = intercept.Ruling{Fate: intercept.Edit, Arguments: h.verdict.Arguments, Told: intercept.ArgumentsRewritten(h.call.Name, why)}
}

// shown is the call as people are asked about it: as rewrite rules have changed
// it.
func (h *hearing) shown() intercept.Call {
	c := h.call
	c.Arguments = cmp.Or(h.verdict.Arguments, c.Arguments)
	return c
}

// logShadowed tells what a policy that is only tried out would have done.
func (x *exchange) logShadowed(h *hearing) {
	if v := h.verdict; v.Shadowed != "" {
		x.p.log.Info("shadow: the policy would not have let this call pass", "verdict", v.Shadowed, "tool", h.call.Name,
			"rule", v.Rule, "reason", v.Reason, "run", x.identity().run, "turn", x.turn)
	}
}

// shadowNote says in the audit log what such a policy would have done.
func (h *hearing) shadowNote() string {
	if h.verdict.Shadowed == "" {
		return ""
	}
	return fmt.Sprintf("shadow: the policy says %s: %s", h.verdict.Shadowed, h.verdict.Reason)
}

func (h *hearing) rule(fate intercept.Fate, outcome approvals.Outcome, told string) {
	h.ruling = intercept.Ruling{Fate: fate, Told: told}
	h.outcome = outcome
}

// request is the question about one call. This is where the wire's call becomes
// the domain's request.
func (x *exchange) request(h *hearing) approvals.Request {
	who, now := x.identity(), time.Now().UTC()
	timeout, silence := x.patience(h.verdict)
	r := approvals.Request{
		Kind: approvals.KindPermission, Principal: who.principal,
		SessionID: who.session, RunID: who.run, TurnID: x.turn,
		Dialect: x.route.Dialect.Name(), Model: who.model,
		ToolCallID: h.call.ID, ToolName: h.call.Name, Arguments: argumentsValue(h.shown()),
		Resource: h.verdict.Resource, ArgsPreview: h.verdict.Preview,
		Title:     cmp.Or(h.verdict.Title, approvals.DefaultTitle(h.call.Name)),
		RiskLevel: h.verdict.Risk, Reason: h.verdict.Reason, Rule: h.verdict.Rule,
		SuggestedPatterns: h.verdict.Suggested,
		Context:           approvals.Context{LastUserMessage: excerpt(x.req.LastUser()), AssistantText: excerpt(x.answer.Text())},
		AllowRemember:     h.verdict.AllowRemember, RememberScopes: h.verdict.RememberScopes,
		Reviewers: h.verdict.Reviewers, RequiredApprovals: h.verdict.RequiredApprovals,
		CreatedAt: now, ExpiresAt: now.Add(timeout), OnTimeout: silence,
		Details: approvals.Details{Flags: slices.Concat(h.call.Flags, h.verdict.Flags), Commands: h.verdict.Commands, FreeText: h.call.FreeText, Fixed: h.call.Fixed, Doubts: h.call.Ambiguous},
	}
	if e := h.verdict.Escalate; e.After > 0 {
		r.Details.Escalation = &approvals.Escalation{At: now.Add(e.After), To: e.To}
	}
	for _, d := range h.verdict.Demands {
		demand := approvals.Demand{Rule: d.Rule, Reviewers: d.Reviewers, RequiredApprovals: d.RequiredApprovals}
		if d.Escalate.After > 0 {
			demand.Escalation = &approvals.Escalation{At: now.Add(d.Escalate.After), To: d.Escalate.To}
		}
		r.Demands = append(r.Demands, demand)
	}
	if tool, ok := x.req.Tool(h.call.Name); ok {
		r.Description = strings.Clone(tool.Description) // pins no list of tools
		r.Tool = approvals.Tool{Description: r.Description, Parameters: tool.Parameters}
		if strictjson.Deep(tool.Parameters) {
			r.Tool.Parameters = nil
			r.Details.Flags = append(slices.Clip(r.Details.Flags), "The tool's parameters are nested too deep to be shown, or checked against.")
		}
	}
	if r.Arguments[0] != '{' || string(r.Arguments) != h.call.Arguments {
		r.Details.RawArguments = h.call.Arguments
	}
	return r
}

// patience is how long people have to answer, and what it means if nobody does. Where
// the configuration bounds every hold, less silence than the rule asks for approves
// nothing.
func (x *exchange) patience(v policy.Verdict) (timeout time.Duration, silence string) {
	if bound := x.p.options.MaxWait; bound > 0 && bound < v.Timeout {
		return bound, approvals.OnTimeoutDeny
	}
	return v.Timeout, v.OnTimeout
}

// excerptLength is how much of what user and model said a request carries: enough
// to understand a call, and never so much that a request cannot be recorded.
const excerptLength = 8 << 10

// excerpt cuts a text that is longer, in the middle, and says so. It is a copy: what
// waits for people pins nothing of a long conversation.
func excerpt(text string) string {
	if len(text) <= excerptLength {
		return strings.Clone(text)
	}
	const half = excerptLength / 2
	left := len(text) - excerptLength
	return strings.ToValidUTF8(text[:half], "") + fmt.Sprintf(" […%d bytes left out…] ", left) + strings.ToValidUTF8(text[len(text)-half:], "")
}

// argumentsValue is the arguments as a JSON value: the object where they are one
// in strict JSON that browsers and bots can read, else the text as a string.
func argumentsValue(c intercept.Call) json.RawMessage {
	if text := []byte(c.Arguments); !c.FreeText && strictjson.Strict(text) == nil && isObject(text) && !strictjson.Deep(text) {
		return text
	}
	return quoteJSON(c.Arguments)
}

func isObject(text []byte) bool {
	for _, b := range text {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return b == '{'
	}
	return false
}

// proceed is where every call has a ruling: what follows is recorded before a
// byte of it leaves.
func (x *exchange) proceed() state {
	began := time.Now()
	if stop := x.checkRun(); stop != nil {
		return stop
	}
	x.endAfterDenials()
	rulings := make([]intercept.Ruling, 0, len(x.docket.cases))
	for _, h := range x.docket.cases {
		rulings = append(rulings, h.ruling)
	}
	settled, err := x.answer.Settle(rulings)
	if err != nil {
		return x.fail(asError(err, intercept.CodeAnswerNotUnderstood))
	}
	refusal := x.judgeRestated(settled.Next)
	if refusal != nil { // the model is told nothing, and what was ruled stands
		settled.Next = nil
	}
	err = x.record(settled)
	x.spans.decided(&x.docket, began, err)
	if err != nil {
		if x.ctx.Err() != nil {
			return x.gone()
		}
		x.p.metrics.storeErrors.WithLabelValues("record").Inc()
		return x.fail(x.storeError(err))
	}
	x.count()
	x.docket.spend()
	x.p.metrics.overhead.Observe(time.Since(began).Seconds())
	switch {
	case refusal != nil:
		return x.fail(refusal)
	case settled.Next == nil:
		return x.finish(settled.Bytes)
	}
	x.p.metrics.continuations.Inc()
	if !x.emit(settled.Bytes) {
		return x.gone()
	}
	x.sends = *settled.Next
	return (*exchange).send
}

// checkRun looks once more whether the run may go on, before anything of it
// leaves.
func (x *exchange) checkRun() state {
	if !x.p.options.Gate.Steered() || x.deletes() {
		return nil
	}
	switch {
	case x.aborted():
		x.abort("")
	case x.p.options.Gate.RunState(x.identity().run) == approvals.RunPaused:
		return x.awaitResume
	}
	return nil
}

func (x *exchange) abort(note string) {
	for _, h := range x.docket.cases {
		h.rule(intercept.Abort, approvals.OutcomeAborted, intercept.RunAborted(note))
	}
}
