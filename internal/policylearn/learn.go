// Package policylearn proposes rules for a policy from the decisions of people, and judges recorded
// calls by another policy: for the console and for commands.
//
// A [Learner] reads the audit log. The candidates are the patterns that the policy suggests for calls
// that were approved; propose.go has the reasons against them, effect.go their effect, by a [Replay] of the calls, and
// insert.go writes them into the file of the policy.
package policylearn

import (
	"cmp"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/wrapped"
)

// Learner collects the decisions about the calls of one policy file.
type Learner struct {
	name  string
	query approvals.ProposalQuery
	of    func(approvals.Principal) *policy.Policy

	policies map[approvals.Principal]*policy.Policy
	asked    []*asked
	outcomes map[string]*outcome // by request
}

// asked is a call that people were asked about.
type asked struct {
	event   approvals.Event
	from    judge.Origin
	call    intercept.Call
	policy  *policy.Policy
	verdict policy.Verdict // of the policy of today
	*outcome

	by       []*candidate              // candidates that concern the call
	coverage *policy.Coverage          // by these
	verdicts map[string]policy.Verdict // with rules for some of these: see verdictWith
}

// outcome is what became of a request.
type outcome struct {
	approved bool   // by a person, as it was
	against  string // what a person did in place of that, "" if nothing
	ended    bool   // without a final decision
}

// candidate is a pattern of approved calls.
type candidate struct {
	pattern  string
	proposal *policy.Proposal // nil: it is not valid
	approved []*asked
	sessions map[session]bool
	affects  []*asked // open calls that it concerns
}

// concerning returns the candidates that concern a call, which is parsed with those that it wraps.
func concerning(parsed []*policy.Parsed, all []*candidate) []*candidate {
	var found []*candidate
	for _, c := range all {
		if c.proposal != nil && slices.ContainsFunc(parsed, func(p *policy.Parsed) bool { return p.Concerns(c.proposal) }) {
			found = append(found, c)
		}
	}
	return found
}

// New returns a learner for a policy file. of returns the policy for the calls of a principal, nil if
// another file judges them.
func New(name string, q approvals.ProposalQuery, of func(approvals.Principal) *policy.Policy) *Learner {
	q.Approved, q.Sessions = cmp.Or(q.Approved, approvals.DefaultApproved), cmp.Or(q.Sessions, approvals.DefaultSessions)
	return &Learner{name: name, query: q, of: of, policies: map[approvals.Principal]*policy.Policy{}, outcomes: map[string]*outcome{}}
}

// against has what a decision is that does not approve a call as it was.
var against = map[approvals.Action]string{
	approvals.ActionDeny:       "was denied",
	approvals.ActionDenyAlways: "was denied",
	approvals.ActionAbortRun:   "was denied, and its run stopped",
	approvals.ActionModifyArgs: "was edited",
	approvals.ActionAnswer:     "was answered in words and did not run",
}

// Take reads one event. Events come in the order of the log, where a quick decision may be before the
// event of its request.
func (l *Learner) Take(e *approvals.Event) {
	switch e.Type {
	case approvals.EventApprovalRequired:
		l.ask(e)
	case approvals.EventApprovalExpired, approvals.EventApprovalCancelled:
		l.outcome(e).ended = true
	case approvals.EventApprovalDecision:
		result := l.outcome(e)
		switch {
		case approvals.Automatic(e.ReviewerID):
			result.ended = true
		case against[e.Action] != "":
			result.against = against[e.Action]
		case e.Action.Approves():
			result.approved = true
		}
	}
}

// outcome returns the outcome of the request of an event.
func (l *Learner) outcome(e *approvals.Event) *outcome {
	result := l.outcomes[e.RequestID]
	if result == nil {
		result = &outcome{}
		l.outcomes[e.RequestID] = result
	}
	return result
}

// ask notes a call that people are asked about.
func (l *Learner) ask(e *approvals.Event) {
	from, call, then, ok := judge.Recorded(e)
	p := l.policyOf(e.Principal)
	if !ok || then != policy.Ask || p == nil || e.Time.Before(l.query.Since) || p.AsksPeople(call.Name) {
		return
	}
	request := &asked{event: *e, from: from, call: call, policy: p, verdict: judge.NewRules(p).Verdict(from, call), outcome: l.outcome(e)}
	l.asked = append(l.asked, request)
}

func (l *Learner) policyOf(who approvals.Principal) *policy.Policy {
	p, known := l.policies[who]
	if !known {
		p = l.of(who)
		l.policies[who] = p
	}
	return p
}

// wraps reports whether the call carries others: no rule is proposed for it.
func (a *asked) wraps() bool {
	reading := wrapped.Read(a.call, nil)
	return reading.Kind == wrapped.Parallel || len(reading.Calls) > 0
}

// open reports whether the policy of today still asks about the call.
func (a *asked) open() bool { return a.verdict.Action == policy.Ask && !a.wraps() }

// supports reports whether a person has approved the call, which the policy still asks about.
func (a *asked) supports() bool { return a.approved && a.against == "" && !a.ended && a.open() }

// session identifies the session of the call.
func (a *asked) session() session { return session{a.event.Principal, a.event.SessionID} }

type session struct {
	who approvals.Principal
	id  string
}

// day returns the day of a time for a reader.
func day(at time.Time) string { return at.UTC().Format(time.DateOnly) }
