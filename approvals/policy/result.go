package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/detect"
	"github.com/heldcall/heldcall/approvals/policy/resource"
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

// JudgeResult returns the verdict on a result. A deny rule decides before an ask rule, which
// decides before an allow rule; that exempts a result from redaction.
func (p *Policy) JudgeResult(r Result) *ResultVerdict {
	c := r.Call
	c.Principal, c.Session, c.Run, c.Turn, c.Model, c.Dialect = approvals.Principal{}, "", "", "", "", ""
	e := &evaluation{policy: p, c: resource.Parse(c, &p.rules.Known, parseRules{p})}
	known := e.c
	if !r.Known {
		known = nil
	}
	rules, v := &p.rules.Results, *passes
	if tainting := matching(rules.Taint, known, r.Texts); len(tainting) > 0 {
		v.Taint = tainting[0].Text
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
		redact(&v, matching(rules.Redact, known, r.Texts), r.Texts)
	}
	if asking := matching(rules.Ask, known, r.Texts); len(asking) > 0 {
		v.ask(e, asking)
	}
	if v.Action == Allow && v.Redacted == nil && v.Taint == "" {
		return passes
	}
	return &v
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
func matching(list []*rule.Pattern, c *resource.ParsedCall, texts []string) []*rule.Pattern {
	var found []*rule.Pattern
	for _, p := range list {
		if p.MayMatch(c) && contains(p.Rule.Contains, texts) {
			found = append(found, p)
		}
	}
	return found
}

// contains reports whether one of some detectors finds something in the texts.
func contains(detectors []*detect.Detector, texts []string) bool {
	return len(detectors) == 0 || slices.ContainsFunc(detectors, func(d *detect.Detector) bool { return len(findIn(d, texts)) > 0 })
}

// findIn finds parts of several texts, with their places in the joined text: parts may
// continue from one text into the next, and begin or end with one.
func findIn(d *detect.Detector, texts []string) []detect.Span {
	found := d.Find(strings.Join(texts, ""))
	if len(texts) == 1 {
		return found
	}
	at := 0
	for _, text := range texts {
		for _, span := range d.Find(text) {
			found = append(found, detect.Span{Start: at + span.Start, End: at + span.End, Kind: span.Kind})
		}
		at += len(text)
	}
	return found
}

// redact replaces what the rules of patterns find.
func redact(v *ResultVerdict, by []*rule.Pattern, texts []string) {
	var found []detect.Span
	var places []string
	for i, p := range by {
		if slices.ContainsFunc(by[:i], func(earlier *rule.Pattern) bool { return earlier.Rule == p.Rule }) {
			continue
		}
		for _, d := range p.Rule.Contains {
			found = append(found, findIn(d, texts)...)
		}
		places = append(places, p.Where)
		v.Reason = cmp.Or(v.Reason, p.Rule.Reason)
	}
	if len(found) == 0 {
		return
	}
	v.Rule, v.Reason = strings.Join(places, ", "), cmp.Or(v.Reason, "A policy rule redacts parts of such results.")
	v.Redacted = redacted(texts, disjoint(found))
}

// disjoint joins the parts that overlap, in the order of their places.
func disjoint(found []detect.Span) []detect.Span {
	slices.SortFunc(found, func(a, b detect.Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(b.Kind, a.Kind))
	})
	var all []detect.Span
	for _, span := range found {
		if n := len(all); n > 0 && span.Start < all[n-1].End {
			all[n-1].End = max(all[n-1].End, span.End)
			all[n-1].Kind = cmp.Or(all[n-1].Kind, span.Kind)
			continue
		}
		all = append(all, span)
	}
	return all
}

// redacted returns texts without some parts of the joined text. Of a part in several texts
// the first one names it.
func redacted(texts []string, parts []detect.Span) []string {
	out := make([]string, len(texts))
	at := 0
	for i, text := range texts {
		var b strings.Builder
		kept := at
		for _, part := range parts {
			if part.End <= at || part.Start >= at+len(text) {
				continue
			}
			if part.Start > kept {
				b.WriteString(text[kept-at : part.Start-at])
			}
			if part.Start >= at {
				b.WriteString(replacement(part.Kind))
			}
			kept = min(part.End, at+len(text))
		}
		b.WriteString(text[kept-at:])
		out[i] = b.String()
		at += len(text)
	}
	return out
}

// replacement is the text in place of a part.
func replacement(kind string) string {
	if kind == "" {
		return "[redacted]"
	}
	return "[redacted: " + kind + "]"
}
