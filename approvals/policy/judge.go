package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"cmp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// finding is the deny pattern that matches, or the first that might.
type finding struct {
	match   match.Result
	pattern *pattern
}

// findDeny looks for the deny rule or grant that matches. A rule is named before
// a grant.
func (s *subject) findDeny() finding {
	found := s.findDenyIn(s.policy.deny)
	for _, set := range s.granted {
		if one := s.findDenyIn(set.deny); one.match > found.match {
			found = one
		}
	}
	return found
}

func (s *subject) findDenyIn(x *index) finding {
	found := finding{}
	for p := range x.candidates(s.call.Tool, s.kind, s.keys, s.every) {
		if m := s.match(p); m > found.match || m == found.match && m != match.No && p.rank < found.pattern.rank {
			found = finding{m, p}
		}
	}
	return found
}

// findAsks finds the ask patterns that match, in falling strictness.
func (s *subject) findAsks(x *index) []*pattern {
	var found []*pattern
	for p := range x.candidates(s.call.Tool, s.kind, s.keys, s.every) {
		if s.match(p) != match.No && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *pattern) int { return a.rank - b.rank })
	return found
}

// findAllow finds the allow rules and grants that cover a call: every one of its resources,
// and of a script every command. A call in doubt has none.
func (s *subject) findAllow(lists ...*index) (ground, bool) {
	if len(s.doubts) > 0 {
		return ground{}, false
	}
	if by, ok := s.allowedByName(lists, s.allows); ok {
		return by, true
	}
	if s.unclear != "" || s.beyond != "" || s.filter != "" || s.certain == 0 {
		return ground{}, false
	}
	var used []*pattern
	for i := range s.resources() {
		if !s.allowedReading(lists, &s.readings[i], &used) {
			return ground{}, false
		}
	}
	return together(used)
}

// allowedByName finds the allow pattern like that that covers every call of the
// tool.
func (s *subject) allowedByName(lists []*index, like func(*pattern) bool) (ground, bool) {
	if p := s.first(lists, func(p *pattern) bool { return p.any && like(p) }); p != nil {
		return p.ground(Allow), true
	}
	return ground{}, false
}

// allowedReading finds the allow patterns that cover a resource.
func (s *subject) allowedReading(lists []*index, r *reading, used *[]*pattern) bool {
	if s.kind == asShell {
		if r.script.NotSimple != "" || len(r.script.Commands) == 0 {
			return false
		}
		return !slices.ContainsFunc(r.script.Commands, func(c *shell.Command) bool { return !s.allowedCommand(lists, c, used) })
	}
	return use(used, s.first(lists, func(p *pattern) bool { return p.covers(s, r) && s.allows(p) }))
}

// allowedCommand finds the allow pattern that covers one command, or what it
// runs if it is a program that only changes time and priority of that.
func (s *subject) allowedCommand(lists []*index, c *shell.Command, used *[]*pattern) bool {
	if p := s.first(lists, func(p *pattern) bool {
		return s.coversCommand(p, c) && s.allows(p)
	}); p != nil {
		return use(used, p)
	}
	inner := c.OnlyInner()
	return inner != nil && s.allowedCommand(lists, inner, used)
}

// first is the allow pattern of the lowest rank in the first list that has any
// like that, or nil.
func (s *subject) first(lists []*index, like func(*pattern) bool) *pattern {
	for _, x := range lists {
		var found *pattern
		for p := range x.candidates(s.call.Tool, s.kind, s.keys, false) {
			if (found == nil || p.rank < found.rank) && like(p) {
				found = p
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// allowing are the lists of allow patterns that count for the call: that of the
// rules, then those of the grants.
func (s *subject) allowing(rules *index) []*index {
	lists := make([]*index, 1, 1+len(s.granted))
	lists[0] = rules
	for _, set := range s.granted {
		lists = append(lists, set.allow)
	}
	return lists
}

// lifted finds the grants that cover a call which only rules ask about that let
// grants stand above them.
func (s *subject) lifted(asks []*pattern, denied finding) (ground, bool) {
	if len(s.granted) == 0 || slices.ContainsFunc(asks, func(p *pattern) bool { return !p.rule.lifts }) {
		return ground{}, false
	}
	scopes := settingsOf(asks, false).scopes
	var lists []*index
	for _, set := range s.granted {
		if len(scopes) == 0 || slices.Contains(scopes, set.scope) {
			lists = append(lists, set.allow)
		}
	}
	s.lifting = asks
	by, ok := s.findAllow(lists...)
	s.lifting = nil
	return by, ok && s.whyNotAllow(by, true, denied) == ""
}

// use notes a pattern that was found.
func use(used *[]*pattern, p *pattern) bool {
	if p != nil && !slices.Contains(*used, p) {
		*used = append(*used, p)
	}
	return p != nil
}

// together is the ground of several allow patterns, each of which covers a part.
func together(used []*pattern) (ground, bool) {
	if len(used) == 0 {
		return ground{}, false
	}
	by := used[0].ground(Allow)
	by.spelledOut = !slices.ContainsFunc(used, func(p *pattern) bool { return p.shell == nil || !p.shell.SpelledOut })
	for _, p := range used[1:] {
		if !slices.Contains(strings.Split(by.rule, ", "), p.where) {
			by.rule += ", " + p.where
		}
		by.reason = "Every part of the call is allowed by a rule."
		if p.rule.grant != nil {
			by.grants = append(by.grants, p.rule.grant.id)
		}
		if len(by.grants) > 0 {
			by.reason = "Every part of the call is allowed by a rule or grant."
		}
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
		Preview:  s.preview(),
		Grants:   by.grants,
		Flags:    slices.Concat(s.doubts, s.notes),
	}
}

func (s *subject) deny(p *pattern) Verdict {
	v := s.verdict(p.ground(Deny))
	v.Denial = s.denial(&v, []*rule{p.rule})
	return v
}

// question is the verdict that people are asked, with the settings that hold
// where no rule has any.
func (s *subject) question(by ground, denied finding) Verdict {
	by.action, by.grants = Ask, nil
	v := s.verdict(by)
	v.Timeout = DefaultTimeout
	v.OnTimeout = approvals.OnTimeoutDeny
	v.RequiredApprovals = 1
	v.AllowRemember = len(s.doubts) == 0
	v.Suggested = s.suggest()
	v.Commands = firstOf(s.shownCommands())
	if s.unclear != "" && len(s.doubts) == 0 {
		v.Flags = append(v.Flags, s.unclear)
	}
	if s.beyond != "" {
		v.Flags = append(v.Flags, s.beyond)
	}
	if s.mindsSecrets() && s.secret() != "" {
		v.Flags = append(v.Flags, s.secretFlag())
	}
	if denied.match == match.Maybe {
		v.Flags = append(v.Flags, s.mayMatch(denied.pattern, Deny))
	}
	if hidden := match.Invisible(s.text); hidden != "" {
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
	case denied.match == match.Maybe && !by.spelledOut:
		return "The call would be allowed, but a rule that denies may match it."
	case !byRule && s.judgedScript() && (s.unclear != "" || s.notPlain() != ""):
		return "The command is more than plain words, which no default allows without asking."
	case !byRule && s.secret() != "":
		return s.secretReason()
	case by.rated:
		return s.whyNotRated()
	}
	return ""
}

// whyNoRule returns why no rule with an argument covers a call, where one could, or
// is "".
func (s *subject) whyNoRule() string {
	switch {
	case len(s.doubts) == 0 && s.secret() != "":
		return s.secretReason()
	case !s.policy.allow.anyFor(s.call.Tool, s.kind):
		return ""
	case len(s.doubts) > 0:
		return s.doubts[0]
	}
	return s.beyond
}

// judgedScript reports whether the policy says that the tool runs shell scripts.
func (s *subject) judgedScript() bool {
	return s.kind == asShell && !(s.tool != nil && s.tool.unsaid())
}

// whyNotRated returns why the low risk of a tool does not let the call pass, or is "".
func (s *subject) whyNotRated() string {
	switch {
	case s.unclear != "":
		return "The tool is rated as low risk, but it is not known what this call is about."
	case s.beyond != "":
		return "The tool is rated as low risk, but not all arguments of this call are known."
	}
	return ""
}

// askByRules asks with the strictest settings of several rules, whose patterns are in
// falling strictness. Risk and title are those of the patterns that certainly match.
func (s *subject) askByRules(by ground, asks, sure []*pattern, denied finding) Verdict {
	v := s.question(by, denied)
	silence := len(s.doubts) == 0 && denied.match == match.No && s.silenceApproves(asks)
	all := settingsOf(asks, silence)
	v.Risk = cmp.Or(settingsOf(sure, silence).risk, v.Risk)
	v.Timeout = cmp.Or(all.timeout, v.Timeout)
	v.want(demandsOf(asks))
	v.AllowRemember = v.AllowRemember && !all.forget
	v.RememberScopes = slices.Clone(all.scopes)
	if silence {
		v.OnTimeout = approvals.OnTimeoutApprove
	}
	s.title(&v, rulesOf(sure))
	v.Denial = s.denial(&v, rulesOf(asks))
	return v
}

func rulesOf(patterns []*pattern) []*rule {
	rules := make([]*rule, len(patterns))
	for i, p := range patterns {
		rules[i] = p.rule
	}
	return rules
}

// silenceApproves reports whether the call passes when nobody answers: every rule that
// asks says so, and no part of the call is there about which none of them asks and
// that no rule or grant allows.
func (s *subject) silenceApproves(asks []*pattern) bool {
	covering := make([]*pattern, len(asks))
	for i, p := range asks {
		if p.rule.onTimeout != approvals.OnTimeoutApprove {
			return false
		}
		one := *p // an index ranks its patterns
		covering[i] = &one
	}
	_, ok := s.findAllow(append(s.allowing(s.policy.allow), newAllowIndex(covering))...)
	return ok
}

// settingsOf puts together the strictest settings of several ask rules, but for who
// decides: see [demandsOf]. Where silence approves, more time is stricter.
func settingsOf(asks []*pattern, silence bool) settings {
	var all settings
	for _, p := range asks {
		r := p.rule.settings
		all.risk = strictest(all.risk, r.risk)
		all.forget = all.forget || r.forget
		all.scopes, all.forget = common(all.scopes, r.scopes, all.forget)
		t := cmp.Or(r.timeout, DefaultTimeout)
		if all.timeout == 0 || silence && t > all.timeout || !silence && t < all.timeout {
			all.timeout = t
		}
	}
	return all
}

// common are the scopes that two rules let a grant have. Where they have none in
// common, nothing is remembered.
func common(a, b []approvals.GrantScope, forget bool) ([]approvals.GrantScope, bool) {
	switch {
	case len(b) == 0:
		return a, forget
	case len(a) == 0:
		return b, forget
	}
	var both []approvals.GrantScope
	for _, one := range a {
		if slices.Contains(b, one) {
			both = append(both, one)
		}
	}
	return both, forget || len(both) == 0
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
