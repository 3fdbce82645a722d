package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Explanation is how a policy comes to its verdict on a call.
type Explanation struct {
	Verdict  Verdict
	Known    string   // what is known of the tool, in one sentence
	Commands []string // of a shell command: those found, as in [Verdict]
	Doubt    string   // why no allow pattern with an argument covers the call, or ""
	Rules    []RuleExplanation
}

// RuleExplanation is what one pattern of the policy says of a call.
type RuleExplanation struct {
	Where   string // file and line
	List    Action // the list in which the pattern stands, or "rewrite"
	Pattern string
	Applies bool   // it matches, might match, or covers a part of the call
	Says    string // that, or why not
}

// Explain judges a call and says how. The rules are in the order of the file.
func (p *Policy) Explain(c Call) Explanation {
	s := p.newSubject(c)
	e := Explanation{Verdict: p.Judge(c), Known: s.known(), Commands: s.shownCommands(), Doubt: s.doubt()}
	type listed struct {
		*pattern
		in Action
	}
	var all []listed
	for in, x := range map[Action]*index{Deny: p.deny, Ask: p.ask, Allow: p.allow, "rewrite": p.rewrite} {
		for _, one := range x.all {
			all = append(all, listed{one, in})
		}
	}
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.in, b.in), cmp.Compare(a.text, b.text))
	})
	for _, one := range all {
		r := RuleExplanation{Where: one.where, List: one.in, Pattern: one.text}
		if one.in == Allow || one.in == "rewrite" {
			r.Applies, r.Says = s.explainAllow(one.pattern)
		} else {
			r.Applies, r.Says = s.explainMatch(one.pattern)
		}
		e.Rules = append(e.Rules, r)
	}
	return e
}

// known says what is known of the tool.
func (s *subject) known() string {
	switch {
	case s.tool == nil:
		return "Nothing is known of the tool: its arguments are compared as a whole."
	case !s.tool.typed:
		return fmt.Sprintf("Its arguments are compared as a whole (%s).", s.tool.where)
	}
	what := kindNames[s.kind]
	if s.tool.patch {
		what = "patch"
	}
	return fmt.Sprintf("Its %s is judged as %s (%s).", s.tool.fieldNames(), what, s.tool.where)
}

// doubt is why no allow pattern with an argument covers the call, or "".
func (s *subject) doubt() string {
	if len(s.doubts) > 0 {
		return s.doubts[0]
	}
	filtered := ""
	if s.filter != "" {
		filtered = s.secretReason()
	}
	return cmp.Or(s.unclear, s.beyond, filtered, s.notPlain())
}

// explainMatch says what a deny or ask pattern says of the call.
func (s *subject) explainMatch(p *pattern) (applies bool, says string) {
	if !p.isFor(s.call.Tool, s.kind) {
		return false, "is for another tool"
	}
	compared := s.compare(p)
	switch s.meets(p, compared) {
	case match.Yes:
		return true, "matches"
	case match.Maybe:
		return true, "may match: " + s.inDoubt(p)
	}
	if compared != match.No {
		return false, "its condition is not true"
	}
	return false, "does not match"
}

// explainAllow says what an allow pattern says of the call.
func (s *subject) explainAllow(p *pattern) (applies bool, says string) {
	switch {
	case !p.isFor(s.call.Tool, s.kind):
		return false, "is for another tool"
	case len(s.doubts) == 0 && !s.allows(p):
		return false, "its condition is not true"
	case p.any && len(s.doubts) == 0:
		return true, "covers every call of the tool"
	case s.doubt() != "":
		return false, "does not cover the call: " + strings.TrimSuffix(s.doubt(), ".")
	case s.kind == asShell && !p.rule.wide:
		return s.explainCommands(p)
	}
	for i := range s.resources() {
		if p.covers(s, &s.readings[i]) {
			return true, "covers " + match.Shorten(s.readings[i].text, 60)
		}
	}
	return false, "does not cover it"
}

func (s *subject) explainCommands(p *pattern) (applies bool, says string) {
	var covered []string
	for _, script := range s.scripts() {
		for _, c := range script.Commands {
			if s.coversCommand(p, c) {
				covered = append(covered, match.Shorten(c.Display(), 60))
			}
		}
	}
	if len(covered) == 0 {
		return false, "covers none of the commands"
	}
	return true, "covers " + strings.Join(covered, " and ")
}
