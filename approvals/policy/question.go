package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
)

// question makes the verdict on one call.
type question struct {
	e      *evaluation
	c      *call.Reading   // of e
	denied finding         // the deny rule or grant that matches or may
	asks   []*rule.Pattern // that match or may, if they decide
}

func newQuestion(e *evaluation) *question { return &question{e: e, c: e.c, denied: e.findDeny()} }

// judge returns the verdict on the call as it is.
func (q *question) judge() Verdict {
	rules := q.e.policy.rules
	if q.denied.match == match.Yes {
		return q.deny(q.denied.pattern)
	}
	if inDoubt := len(q.c.Doubts) > 0 || q.c.Call.Unoffered != ""; inDoubt && rules.Ambiguous.Action == Deny {
		by := rules.Ambiguous
		by.Reason = cmp.Or(q.c.Call.Unoffered, by.Reason)
		return q.verdict(by)
	}
	if asks := q.e.findAsks(rules.Ask); len(asks) > 0 {
		if by, ok := q.e.findGrants(asks); ok && q.whyNotAllow(by, true) == "" {
			return q.verdict(by)
		}
		return q.askMatching(asks)
	}
	by, byRule := q.e.findCovering(q.e.whole, q.e.allowing(rules.Allow)...)
	if !byRule {
		by = rules.ByDefault(q.c.Call.Tool, q.c.Kind, q.c.Tool)
	}
	v := q.judgeUnasked(by, byRule)
	v.ByDefault = !byRule
	if v.Action == Ask && !byRule && q.denied.match == match.No {
		if by, ok := q.e.asShell(); ok {
			return q.verdict(by)
		}
	}
	return v
}

// judgeUnasked returns the verdict on a call for which there is no deny and no ask rule.
func (q *question) judgeUnasked(by rule.Basis, byRule bool) Verdict {
	if by.Action == Deny {
		return q.verdict(by)
	}
	if by.Action == Ask {
		by.Reason = cmp.Or(q.whyNoRule(), by.Reason)
		return q.throughWindow(q.ask(by))
	}
	if why := q.whyNotAllow(by, byRule); why != "" {
		by.Reason = why
		return q.ask(by)
	}
	return q.verdict(by)
}

func (q *question) verdict(by rule.Basis) Verdict {
	v := Verdict{
		Action:   by.Action,
		Rule:     by.Rule,
		Reason:   by.Reason,
		Risk:     q.c.Tool.RiskOr(by.Risk),
		Resource: q.c.Text,
		Preview:  q.c.Preview(),
		Grants:   by.Grants,
		Flags:    slices.Concat(q.c.Doubts, q.e.notes),
	}
	if q.c.Tool != nil {
		v.Starts = q.c.Tool.Starts
	}
	if q.c.Call.Unoffered != "" {
		v.Flags = append(v.Flags, q.c.Call.Unoffered)
	}
	return v
}

func (q *question) deny(p *rule.Pattern) Verdict {
	v := q.verdict(p.Basis(Deny))
	v.Denial = q.message(&v, []*rule.Rule{p.Rule}, denialOf)
	return v
}

// ask returns a verdict to ask, with the default settings.
func (q *question) ask(by rule.Basis) Verdict {
	by.Action, by.Grants = Ask, nil
	v := q.verdict(by)
	v.Effects, v.Risk = q.e.effects()
	v.Risk = rule.Strictest(v.Risk, by.Risk)
	v.Timeout = rule.DefaultTimeout
	v.OnTimeout = approvals.OnTimeoutDeny
	v.RequiredApprovals = 1
	v.AllowRemember = len(q.c.Doubts) == 0 && q.c.Call.Unoffered == ""
	if q.c.Call.Unoffered == "" {
		v.Suggested = q.suggestedPatterns()
	}
	v.Commands = firstOf(q.c.ShownCommands())
	if q.c.Ambiguity != "" && len(q.c.Doubts) == 0 {
		v.Flags = append(v.Flags, q.c.Ambiguity)
	}
	if q.c.Partial != "" {
		v.Flags = append(v.Flags, q.c.Partial)
	}
	if q.c.MindsSecrets() && q.c.Secret() != "" {
		v.Flags = append(v.Flags, q.c.SecretFlag())
	}
	if why := q.c.Foreign(); why != "" {
		v.Flags = append(v.Flags, why)
	}
	v.Flags = append(v.Flags, q.doubts(q.asks)...)
	if hidden := match.Invisible(q.c.Text); hidden != "" {
		v.Flags = append(v.Flags, hidden)
	}
	return v
}

// whyNotAllow returns why a call needs approval that a rule or default allows, or "".
func (q *question) whyNotAllow(by rule.Basis, byRule bool) string {
	switch {
	case q.c.Call.Unoffered != "":
		return q.c.Call.Unoffered
	case len(q.c.Doubts) > 0:
		return "The call can be read in more than one way, so it needs approval."
	case q.denied.match == match.Maybe && !by.SpelledOut:
		return q.e.mayBe(q.denied.pattern)
	case !byRule && q.c.IsJudgedScript() && (q.c.Ambiguity != "" || q.c.NotPlain() != ""):
		return "The command is more than plain words, so it needs approval."
	case !byRule && q.c.Secret() != "":
		return q.c.SecretReason()
	case !byRule && q.c.Foreign() != "":
		return q.c.Foreign()
	case by.Rated:
		return q.whyNotRated()
	}
	return ""
}

// whyNoRule returns why no rule with an argument covers a call, or "".
func (q *question) whyNoRule() string {
	switch {
	case q.c.Call.Unoffered != "":
		return q.c.Call.Unoffered
	case len(q.c.Doubts) == 0 && q.c.Secret() != "":
		return q.c.SecretReason()
	case len(q.c.Doubts) == 0 && q.c.Foreign() != "":
		return q.c.Foreign()
	case !q.e.policy.rules.Allow.AnyFor(q.c.Call.Tool, q.c.Kind):
		return ""
	case len(q.c.Doubts) > 0:
		return q.c.Doubts[0]
	case q.c.Partial == "" && q.c.Places.Outside() != "":
		return "A rule allows this only in the workspace: " + q.c.Places.Outside() + "."
	}
	return q.c.Partial
}

func (q *question) whyNotRated() string {
	switch {
	case q.c.Ambiguity != "":
		return "The tool is rated low risk, but heldcall cannot determine what this call accesses."
	case q.c.Partial != "":
		return "The tool is rated low risk, but not all arguments of this call are known."
	}
	return ""
}

// askByRules asks with the strictest settings of several rules, strictest first. Risk and title are
// of the patterns that certainly match.
func (q *question) askByRules(by rule.Basis, asks, sure []*rule.Pattern) Verdict {
	v := q.ask(by)
	silence := len(q.c.Doubts) == 0 && q.denied.match == match.No && q.silenceApproves(asks)
	all := rule.StrictestSettings(asks, silence)
	v.Risk = cmp.Or(rule.StrictestSettings(sure, silence).Risk, v.Risk)
	v.Timeout = cmp.Or(all.Timeout, v.Timeout)
	v.want(demandsOf(asks))
	v.AllowRemember = v.AllowRemember && !all.NoRemember
	v.DenyOnly = slices.ContainsFunc(asks, func(p *rule.Pattern) bool { return !p.Rule.GrantOverrides })
	v.RememberScopes = slices.Clone(all.Scopes)
	v.Confirm, v.Passkey = all.Confirm, all.Passkey
	if silence {
		v.OnTimeout = approvals.OnTimeoutApprove
	}
	q.title(&v, rule.RulesOf(sure))
	v.Denial = q.message(&v, rule.RulesOf(asks), denialOf)
	v.Hold, v.Notice = all.Hold, q.message(&v, rule.RulesOf(asks), noticeOf)
	return v
}

// silenceApproves reports whether a time-out approves the call: every matching ask rule has it so,
// and an ask, allow rule or grant covers each part of the call.
func (q *question) silenceApproves(asks []*rule.Pattern) bool {
	covering := make([]*rule.Pattern, len(asks))
	for i, p := range asks {
		if p.Rule.OnTimeout != approvals.OnTimeoutApprove || p.Rule.Confirm || p.Rule.Passkey {
			return false
		}
		one := *p // an index ranks its patterns
		covering[i] = &one
	}
	_, ok := q.e.findAllow(append(q.e.allowing(q.e.policy.rules.Allow), rule.NewAllowIndex(covering))...)
	return ok
}

// messageData returns the values of templates.
func (q *question) messageData(v *Verdict) rule.MessageData {
	data := rule.MessageData{
		Tool: q.c.Call.Tool, Resource: q.c.Text, Args: map[string]any{}, Commands: firstOf(q.c.ShownCommands()), Risk: v.Risk, Rule: v.Rule, Reason: v.Reason,
		Principal: q.c.Call.Principal, Session: q.c.Call.Session, Run: q.c.Call.Run, Model: q.c.Call.Model,
	}
	if len(q.c.Doubts) == 0 {
		data.Args = q.c.Args()
	}
	return data
}

// title renders the title of a request. If it fails, the verdict has a flag and no title.
func (q *question) title(v *Verdict, rules []*rule.Rule) {
	for _, r := range rules {
		if r.Title == nil {
			continue
		}
		text, err := r.Title.Render(q.messageData(v))
		if err != nil {
			v.Flags = append(v.Flags, "The title of the rule at "+v.Rule+" cannot be filled in for this call.")
			return
		}
		v.Title = match.Preview(text)
		return
	}
}

// message returns the message of the first rule that has one, or nil.
func (q *question) message(v *Verdict, rules []*rule.Rule, of func(*rule.Rule) *rule.Message) *Message {
	for _, r := range rules {
		if m := of(r); m != nil {
			return &Message{m, q.messageData(v)}
		}
	}
	return nil
}

func denialOf(r *rule.Rule) *rule.Message { return r.Denial }
func noticeOf(r *rule.Rule) *rule.Message { return r.Notice }

// maxCommands is how many commands a reviewer is shown.
const maxCommands = 50

// firstOf returns the commands that a reviewer is shown, and the number of others.
func firstOf(commands []string) []string {
	if len(commands) <= maxCommands {
		return commands
	}
	return append(commands[:maxCommands:maxCommands], fmt.Sprintf("and %d more", len(commands)-maxCommands))
}
