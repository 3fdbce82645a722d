package policy

import (
	"cmp"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

// question makes the verdict on one call.
type question struct {
	e      *evaluation
	c      *ParsedCall // of e
	denied finding     // the deny rule or grant that matches or may
}

// newQuestion looks for the rule or grant that denies a call.
func newQuestion(e *evaluation) *question { return &question{e: e, c: e.c, denied: e.findDeny()} }

// judge returns the verdict on the call as it is.
func (q *question) judge() Verdict {
	rules := q.e.policy.rules
	if q.denied.match == match.Yes {
		return q.deny(q.denied.pattern)
	}
	if len(q.c.Doubts) > 0 && rules.ambiguous.action == Deny {
		return q.verdict(rules.ambiguous)
	}
	if asks := q.e.findAsks(rules.ask); len(asks) > 0 {
		if by, ok := q.e.findGrants(asks); ok && q.whyNotAllow(by, true) == "" {
			return q.verdict(by)
		}
		return q.askMatching(asks)
	}
	by, byRule := q.e.findAllow(q.e.allowing(rules.allow)...)
	if !byRule {
		by = rules.byDefault(q.c.Call.Tool, q.c.Kind, q.c.Tool)
	}
	if by.action == Deny {
		return q.verdict(by)
	}
	if by.action == Ask {
		by.reason = cmp.Or(q.whyNoRule(), by.reason)
		return q.ask(by)
	}
	if why := q.whyNotAllow(by, byRule); why != "" {
		by.reason = why
		return q.ask(by)
	}
	return q.verdict(by)
}

// verdict fills in the fields of every verdict.
func (q *question) verdict(by ground) Verdict {
	risk := by.risk
	if q.c.Tool != nil {
		risk = cmp.Or(risk, q.c.Tool.risk)
	}
	return Verdict{
		Action:   by.action,
		Rule:     by.rule,
		Reason:   by.reason,
		Risk:     cmp.Or(risk, approvals.RiskMedium),
		Resource: q.c.Text,
		Preview:  q.c.Preview(),
		Grants:   by.grants,
		Flags:    slices.Concat(q.c.Doubts, q.e.notes),
	}
}

func (q *question) deny(p *pattern) Verdict {
	v := q.verdict(p.ground(Deny))
	v.Denial = q.denial(&v, []*rule{p.rule})
	return v
}

// ask returns the verdict that people are asked, with the settings that hold
// where no rule has any.
func (q *question) ask(by ground) Verdict {
	by.action, by.grants = Ask, nil
	v := q.verdict(by)
	v.Timeout = DefaultTimeout
	v.OnTimeout = approvals.OnTimeoutDeny
	v.RequiredApprovals = 1
	v.AllowRemember = len(q.c.Doubts) == 0
	v.Suggested = suggest(q.c)
	v.Commands = firstOf(q.c.ShownCommands())
	if q.c.Unclear != "" && len(q.c.Doubts) == 0 {
		v.Flags = append(v.Flags, q.c.Unclear)
	}
	if q.c.Beyond != "" {
		v.Flags = append(v.Flags, q.c.Beyond)
	}
	if q.c.MindsSecrets() && q.c.Secret() != "" {
		v.Flags = append(v.Flags, q.c.SecretFlag())
	}
	if q.denied.match == match.Maybe {
		v.Flags = append(v.Flags, q.e.mayMatch(q.denied.pattern, Deny))
	}
	if hidden := match.Invisible(q.c.Text); hidden != "" {
		v.Flags = append(v.Flags, hidden)
	}
	return v
}

// whyNotAllow says why people are asked about a call that a rule or a default
// allows, or is "".
func (q *question) whyNotAllow(by ground, byRule bool) string {
	switch {
	case len(q.c.Doubts) > 0:
		return "The call can be read in more than one way, so it is not allowed without asking."
	case q.denied.match == match.Maybe && !by.spelledOut:
		return "The call would be allowed, but a rule that denies may match it."
	case !byRule && q.c.IsJudgedScript() && (q.c.Unclear != "" || q.c.NotSimple() != ""):
		return "The command is more than plain words, which no default allows without asking."
	case !byRule && q.c.Secret() != "":
		return q.c.SecretReason()
	case by.rated:
		return q.whyNotRated()
	}
	return ""
}

// whyNoRule returns why no rule with an argument covers a call, where one could, or
// is "".
func (q *question) whyNoRule() string {
	switch {
	case len(q.c.Doubts) == 0 && q.c.Secret() != "":
		return q.c.SecretReason()
	case !q.e.policy.rules.allow.anyFor(q.c.Call.Tool, q.c.Kind):
		return ""
	case len(q.c.Doubts) > 0:
		return q.c.Doubts[0]
	}
	return q.c.Beyond
}

// whyNotRated returns why the low risk of a tool does not let the call pass, or is "".
func (q *question) whyNotRated() string {
	switch {
	case q.c.Unclear != "":
		return "The tool is rated as low risk, but it is not known what this call is about."
	case q.c.Beyond != "":
		return "The tool is rated as low risk, but not all arguments of this call are known."
	}
	return ""
}

// askByRules asks with the strictest settings of several rules, whose patterns are in
// falling strictness. Risk and title are those of the patterns that certainly match.
func (q *question) askByRules(by ground, asks, sure []*pattern) Verdict {
	v := q.ask(by)
	silence := len(q.c.Doubts) == 0 && q.denied.match == match.No && q.silenceApproves(asks)
	all := settingsOf(asks, silence)
	v.Risk = cmp.Or(settingsOf(sure, silence).risk, v.Risk)
	v.Timeout = cmp.Or(all.timeout, v.Timeout)
	v.want(demandsOf(asks))
	v.AllowRemember = v.AllowRemember && !all.forget
	v.RememberScopes = slices.Clone(all.scopes)
	if silence {
		v.OnTimeout = approvals.OnTimeoutApprove
	}
	q.title(&v, rulesOf(sure))
	v.Denial = q.denial(&v, rulesOf(asks))
	return v
}

// silenceApproves reports whether the call passes when nobody answers: every rule that
// asks says so, and no part of the call is there about which none of them asks and
// that no rule or grant allows.
func (q *question) silenceApproves(asks []*pattern) bool {
	covering := make([]*pattern, len(asks))
	for i, p := range asks {
		if p.rule.onTimeout != approvals.OnTimeoutApprove {
			return false
		}
		one := *p // an index ranks its patterns
		covering[i] = &one
	}
	_, ok := q.e.findAllow(append(q.e.allowing(q.e.policy.rules.allow), newAllowIndex(covering))...)
	return ok
}

// messageData is what templates may show of a call.
func (q *question) messageData(v *Verdict) MessageData {
	data := MessageData{
		Tool: q.c.Call.Tool, Resource: q.c.Text, Args: map[string]any{}, Commands: firstOf(q.c.ShownCommands()), Risk: v.Risk, Rule: v.Rule, Reason: v.Reason,
		Principal: q.c.Call.Principal, Session: q.c.Call.Session, Run: q.c.Call.Run, Model: q.c.Call.Model,
	}
	if len(q.c.Doubts) == 0 {
		data.Args = q.c.Args()
	}
	return data
}

// title fills in the title of a question. Where it cannot be filled in, the
// verdict has none and a flag says why.
func (q *question) title(v *Verdict, rules []*rule) {
	for _, r := range rules {
		if r.title == nil {
			continue
		}
		text, err := r.title.render(q.messageData(v))
		if err != nil {
			v.Flags = append(v.Flags, "The title of the rule at "+v.Rule+" could not be filled in for this call.")
			return
		}
		v.Title = match.Preview(text)
		return
	}
}

// denial is what the model is told by the first rule that says it, or nil.
func (q *question) denial(v *Verdict, rules []*rule) *Denial {
	for _, r := range rules {
		if r.denial != nil {
			return &Denial{r.denial, q.messageData(v)}
		}
	}
	return nil
}
