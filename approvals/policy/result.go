package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// Redact is the [ResultVerdict.Said] of a result that the model reads without the parts that
// rules redact.
const Redact Action = "redact"

// Result is the result of a tool call as policy sees it.
type Result struct {
	Call  Call     // that had the result
	Known bool     // false: nothing is known of the call, so that each rule may be meant
	Texts []string // its texts, which the model reads one after another
	// Unreadable reports that there are other texts, which could not be found.
	Unreadable bool
	// Message reports that it is no result: see [toolresult.Content]. Only rules with contains are about it, and
	// nobody is asked: people are asked about the result itself.
	Message bool
}

// ResultVerdict is the decision of a policy on one result. It depends on the policy, the call
// and the texts only.
type ResultVerdict struct {
	Action   Action   // [Allow], [Deny] or [Ask]
	Rule     string   // that denies, asks or redacts, "policy.yaml:12"; "" for none
	Reason   string   // one sentence, "" for none
	Redacted []string // the texts as the model, or the reviewer, reads them; nil: as they are
	Taint    string   // the pattern by which the result taints its run, "" for none
	Question Verdict  // how people are asked, with Ask
	Shadowed Action   // what a [Shadow] policy would have done, "" for nothing
}

// Said is the action with [Redact] for a result that is allowed in part.
func (v *ResultVerdict) Said() Action {
	if v.Action == Allow && v.Redacted != nil {
		return Redact
	}
	return v.Action
}

// passes is the verdict on a result that no rule concerns.
var passes = &ResultVerdict{Action: Allow}

// JudgesResults reports whether a rule is about results.
func (p *Policy) JudgesResults() bool { return p.rules.Results.Any() }

// DeniesUnseen reports whether requests are denied that continue a conversation without the results of released calls.
func (p *Policy) DeniesUnseen() bool { return p.rules.Results.Unseen == rule.UnseenDeny }

// JudgeResult returns the verdict on a result. A deny rule decides before an ask rule, which
// decides before an allow rule; that exempts a result from redaction.
func (p *Policy) JudgeResult(r Result) *ResultVerdict {
	c := r.Call
	c.Principal, c.Session, c.Run, c.Turn, c.Model, c.Dialect = approvals.Principal{}, "", "", "", "", ""
	e := &evaluation{policy: p, c: call.Read(c, &p.rules.Known, parseRules{p})}
	known := e.c
	if !r.Known {
		known = nil
	}
	rules, v := &p.rules.Results, *passes
	if r.Message {
		return p.judgeMessage(r.Texts)
	}
	for _, p := range matching(rules.Taint, known, r.Texts) {
		if v.Taint == "" && (known == nil || !p.OnlyOwnTexts(known)) {
			v.Taint = p.Text
		}
	}
	if r.Unreadable {
		v.Action, v.Rule, v.Reason = Deny, "results", "It is nested too deep to be judged."
		return &v
	}
	if denying := matching(rules.Deny, known, r.Texts); len(denying) > 0 {
		by := denying[0].Basis(Deny)
		v.Action, v.Rule, v.Reason = Deny, by.Rule, cmp.Or(denying[0].Rule.Reason, "A policy rule denies such results.")
		return &v
	}
	if _, exempt := e.findAllow(rules.Allow); !exempt || known == nil {
		v.redact(matching(rules.Redact, known, r.Texts), r.Texts)
	}
	if asking := matching(rules.Ask, known, r.Texts); len(asking) > 0 {
		v.ask(e, asking)
	}
	if v.Action == Allow && v.Redacted == nil && v.Taint == "" {
		return passes
	}
	return &v
}

// judgeMessage is [Policy.JudgeResult] for the texts of a message in a request that only counts tokens.
func (p *Policy) judgeMessage(texts []string) *ResultVerdict {
	rules, v := &p.rules.Results, *passes
	for _, list := range [][]*rule.Pattern{rules.Deny, rules.Ask} {
		for _, pattern := range matching(list, nil, texts) {
			if len(pattern.Rule.Contains) > 0 {
				v.Action, v.Rule, v.Reason = Deny, pattern.Where, cmp.Or(pattern.Rule.Reason, "A policy rule is about such results.")
				return &v
			}
		}
	}
	v.redact(matching(rules.Redact, nil, texts), texts)
	if v.Redacted == nil {
		return passes
	}
	return &v
}

// JudgeResultOnce is [Policy.JudgeResult] for a result with a key. What the policy remembers
// is not judged again.
func (p *Policy) JudgeResultOnce(key ResultKey, result func() Result) *ResultVerdict {
	if v, ok := p.results.Get(key, (*ResultVerdict).size); ok {
		return v
	}
	v := p.JudgeResult(result())
	p.results.Put(key, v, v.size())
	return v
}

// JudgeResultOnce allows a result unchanged and reports the action of the policy.
func (s Shadow) JudgeResultOnce(key ResultKey, result func() Result) *ResultVerdict {
	v := s.Policy.JudgeResultOnce(key, result)
	if v.Said() == Allow {
		return v
	}
	return &ResultVerdict{Action: Allow, Rule: v.Rule, Reason: v.Reason, Taint: v.Taint, Shadowed: v.Said()}
}

// ask makes the verdict that of ask rules, the strictest first.
func (v *ResultVerdict) ask(e *evaluation, asking []*rule.Pattern) {
	by := asking[0].Basis(Ask)
	by.Reason = cmp.Or(asking[0].Rule.Reason, "A policy rule asks about such results.")
	q := (&question{e: e, c: e.c}).askByRules(by, asking, asking)
	q.OnTimeout = approvals.OnTimeoutApprove
	if slices.ContainsFunc(asking, func(p *rule.Pattern) bool { return p.Rule.OnTimeout != approvals.OnTimeoutApprove }) {
		q.OnTimeout = approvals.OnTimeoutDeny
	}
	q.AllowRemember, q.RememberScopes, q.Suggested, q.Flags = false, nil, nil, nil
	v.Action, v.Rule, v.Reason, v.Question = Ask, q.Rule, q.Reason, q
}

// matching returns the patterns of a list that may mean the call, and whose rules find
// something in the texts. Nil is a call that is not known.
func matching(list []*rule.Pattern, c *call.Reading, texts []string) []*rule.Pattern {
	var patterns []*rule.Pattern
	for _, p := range list {
		if p.MayMatch(c) && contains(p.Rule.Contains, texts) {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// contains reports whether one of some detectors finds something in the texts.
func contains(detectors []*rule.Detector, texts []string) bool {
	return len(detectors) == 0 || slices.ContainsFunc(detectors, func(d *rule.Detector) bool { return len(d.FindIn(texts)) > 0 })
}

// redact replaces what the rules of patterns find.
func (v *ResultVerdict) redact(by []*rule.Pattern, texts []string) {
	var spans []rule.Span
	var places []string
	for i, p := range by {
		if slices.ContainsFunc(by[:i], func(earlier *rule.Pattern) bool { return earlier.Rule == p.Rule }) {
			continue
		}
		for _, d := range p.Rule.Contains {
			spans = append(spans, d.FindIn(texts)...)
		}
		places = append(places, p.Where)
		v.Reason = cmp.Or(v.Reason, p.Rule.Reason)
	}
	if len(spans) == 0 {
		return
	}
	v.Rule, v.Reason = strings.Join(places, ", "), cmp.Or(v.Reason, "A policy rule redacts parts of such results.")
	v.Redacted = rule.Redact(texts, spans)
}
