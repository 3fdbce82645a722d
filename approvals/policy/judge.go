package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// match is what a deny or ask pattern says of a call.
type match int

const (
	no    match = iota
	maybe       // it cannot be told: the call must not be allowed
	yes
)

// finding is the deny pattern that matches, or the first that might.
type finding struct {
	match   match
	pattern *pattern
}

// ground is why a verdict is what it is.
type ground struct {
	action Action
	rule   string
	reason string
	risk   approvals.Risk

	// spelledOut is true of a script that allow patterns without a * spell out:
	// what it may run beyond its words is meant by who wrote them.
	spelledOut bool
}

func (s *subject) findDeny(patterns []*pattern) finding {
	found := finding{}
	for _, p := range patterns {
		switch s.match(p) {
		case yes:
			return finding{yes, p}
		case maybe:
			if found.match == no {
				found = finding{maybe, p}
			}
		}
	}
	return found
}

func (s *subject) findAsks(patterns []*pattern) []*pattern {
	var found []*pattern
	for _, p := range patterns {
		if s.match(p) != no {
			found = append(found, p)
		}
	}
	return found
}

// findAllow finds the allow rules that cover a call. A call in doubt has none.
func (s *subject) findAllow(patterns []*pattern) (ground, bool) {
	if len(s.doubts) > 0 {
		return ground{}, false
	}
	if by, ok := s.allowedByName(patterns); ok {
		return by, true
	}
	if s.unclear != "" {
		return ground{}, false
	}
	if s.kind == asShell {
		return s.allowedScript(patterns)
	}
	for _, p := range patterns {
		if p.tool.match(s.call.Tool) && p.covers(s.kind, &s.readings[0]) {
			return p.ground(Allow), true
		}
	}
	return ground{}, false
}

// allowedByName finds the allow pattern that covers every call of the tool.
func (s *subject) allowedByName(patterns []*pattern) (ground, bool) {
	for _, p := range patterns {
		if p.any && p.tool.match(s.call.Tool) {
			return p.ground(Allow), true
		}
	}
	return ground{}, false
}

// allowedScript finds for every command of a script a pattern that covers it.
func (s *subject) allowedScript(patterns []*pattern) (ground, bool) {
	script := s.readings[0].script
	if script.notPlain != "" {
		return ground{}, false
	}
	var used []*pattern
	for _, c := range script.commands {
		i := slices.IndexFunc(patterns, func(p *pattern) bool {
			return p.shell != nil && p.tool.match(s.call.Tool) && p.shell.covers(c)
		})
		if i < 0 {
			return ground{}, false
		}
		if !slices.Contains(used, patterns[i]) {
			used = append(used, patterns[i])
		}
	}
	if len(used) == 0 {
		return ground{}, false
	}
	by := used[0].ground(Allow)
	by.spelledOut = !slices.ContainsFunc(used, func(p *pattern) bool { return !p.shell.spelledOut })
	for _, p := range used[1:] {
		if !slices.Contains(strings.Split(by.rule, ", "), p.where) {
			by.rule += ", " + p.where
		}
		by.reason = "Every command of the script is allowed by a rule."
		by.risk = strictest(by.risk, p.rule.risk)
	}
	return by, true
}

// verdict fills in what every verdict holds.
func (s *subject) verdict(by ground) Verdict {
	risk := by.risk
	if risk == "" && s.tool != nil {
		risk = s.tool.risk
	}
	return Verdict{
		Action:   by.action,
		Rule:     by.rule,
		Reason:   by.reason,
		Risk:     cmp.Or(risk, approvals.RiskMedium),
		Resource: s.text,
		Preview:  preview(s.text),
		Flags:    slices.Clone(s.doubts),
	}
}

func (s *subject) deny(p *pattern) Verdict { return s.verdict(p.ground(Deny)) }

// question is the verdict that people are asked, with the settings that hold
// where no rule has any.
func (s *subject) question(by ground, denied finding) Verdict {
	by.action = Ask
	v := s.verdict(by)
	v.Timeout = DefaultTimeout
	v.OnTimeout = approvals.OnTimeoutDeny
	v.RequiredApprovals = 1
	v.AllowRemember = len(s.doubts) == 0
	v.Suggested = s.suggest()
	if s.unclear != "" && len(s.doubts) == 0 {
		v.Flags = append(v.Flags, s.unclear)
	}
	if denied.match == maybe {
		v.Flags = append(v.Flags, fmt.Sprintf("It cannot be told whether the rule that denies %s (%s) matches this call.",
			denied.pattern.text, denied.pattern.where))
	}
	if hidden := invisible(s.text); hidden != "" {
		v.Flags = append(v.Flags, hidden)
	}
	return v
}

// whyNotAllow says why people are asked about a call that a rule or a default
// allows, or is "".
func (s *subject) whyNotAllow(by ground, byRule bool, denied finding) string {
	switch {
	case len(s.doubts) > 0:
		return "The call can be read in more than one way, so it is not allowed without asking."
	case denied.match == maybe && !by.spelledOut:
		return "The call would be allowed, but a rule that denies may match it."
	case !byRule && s.kind == asShell && (s.unclear != "" || s.readings[0].script.notPlain != ""):
		return "The command is more than plain words, which no default allows without asking."
	}
	return ""
}

// askByRules asks with the strictest settings of every ask rule that matches.
// The patterns are in falling strictness.
func (s *subject) askByRules(asks []*pattern, denied finding) Verdict {
	first := asks[0]
	v := s.question(first.ground(Ask), denied)
	all := settingsOf(asks)
	v.Risk = cmp.Or(all.risk, v.Risk)
	v.Timeout = cmp.Or(all.timeout, v.Timeout)
	v.RequiredApprovals = max(all.required, 1)
	v.Reviewers = slices.Clone(all.reviewers)
	v.AllowRemember = v.AllowRemember && !all.forget
	if all.onTimeout == approvals.OnTimeoutApprove && len(s.doubts) == 0 && denied.match == no {
		v.OnTimeout = approvals.OnTimeoutApprove
	}
	for _, p := range asks {
		if names := p.rule.reviewers; len(names) > 0 && !slices.Equal(names, all.reviewers) {
			v.Flags = append(v.Flags, fmt.Sprintf("The rule that asks about %s (%s) names other reviewers: %s.",
				p.text, p.where, strings.Join(names, ", ")))
		}
	}
	return v
}

// settingsOf puts together the strictest settings of several ask rules; the
// reviewers are those of the first rule that names any.
func settingsOf(asks []*pattern) settings {
	all := settings{onTimeout: approvals.OnTimeoutApprove}
	for _, p := range asks {
		r := p.rule.settings
		all.risk = strictest(all.risk, r.risk)
		all.required = max(all.required, r.required)
		all.forget = all.forget || r.forget
		if r.onTimeout != approvals.OnTimeoutApprove {
			all.onTimeout = approvals.OnTimeoutDeny
		}
		if len(all.reviewers) == 0 {
			all.reviewers = r.reviewers
		}
	}
	for _, p := range asks {
		t := p.rule.timeout
		if t == 0 {
			continue
		}
		longer := all.onTimeout == approvals.OnTimeoutApprove
		if all.timeout == 0 || (longer && t > all.timeout) || (!longer && t < all.timeout) {
			all.timeout = t
		}
	}
	return all
}

// ground is the pattern's own, for an action that its list names.
func (p *pattern) ground(a Action) ground {
	says := map[Action]string{Allow: "allows", Deny: "denies", Ask: "asks about"}[a]
	return ground{
		action: a,
		rule:   p.where,
		risk:   p.rule.risk,
		reason: cmp.Or(p.rule.reason, fmt.Sprintf("The policy %s %s.", says, p.text)),
	}
}

func defaultReason(a Action) string {
	switch a {
	case Allow:
		return "No rule covers this call, and the policy allows what none covers."
	case Deny:
		return "No rule covers this call, and the policy denies what none covers."
	default:
		return "No rule covers this call, and the policy asks about what none covers."
	}
}

// riskLevel orders risks; an unset one is below all.
func riskLevel(r approvals.Risk) int {
	return slices.Index([]approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}, r)
}

func strictest(a, b approvals.Risk) approvals.Risk {
	if riskLevel(b) > riskLevel(a) {
		return b
	}
	return a
}
