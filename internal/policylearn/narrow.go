package policylearn

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// ruleAt is the place of a rule in a verdict, such as policy.yaml:12.
var ruleAt = regexp.MustCompile(`^[^, ]+:[0-9]+$`)

// narrowed returns the ask rules whose every request was approved, and what could be left out of them: the calls that were
// approved often enough by themselves.
func (l *Learner) narrowed() []approvals.NarrowedRule {
	byRule, order := map[string][]*asked{}, []string{}
	for _, request := range l.asked {
		if rule := request.verdict.Rule; request.open() && ruleAt.MatchString(rule) {
			if byRule[rule] == nil {
				order = append(order, rule)
			}
			byRule[rule] = append(byRule[rule], request)
		}
	}
	found := []approvals.NarrowedRule{}
	for _, rule := range order {
		if narrow, ok := l.narrow(rule, byRule[rule]); ok {
			found = append(found, narrow)
		}
	}
	slices.SortStableFunc(found, func(a, b approvals.NarrowedRule) int { return cmp.Compare(b.Approved, a.Approved) })
	return found
}

func (l *Learner) narrow(rule string, requests []*asked) (approvals.NarrowedRule, bool) {
	narrow := approvals.NarrowedRule{Policy: l.name, Rule: rule, Approved: len(requests), Lines: []string{}}
	sessions, alike := map[session]bool{}, map[string][]*asked{}
	for _, request := range requests {
		if !request.supports() || request.verdict.Risk == approvals.RiskCritical {
			return narrow, false
		}
		sessions[request.session()] = true
		alike[request.verdict.Resource] = append(alike[request.verdict.Resource], request)
	}
	narrow.Sessions = len(sessions)
	var resources, patterns []string
	for resource, same := range alike {
		exact := slices.DeleteFunc(slices.Clone(same[0].verdict.Suggested), func(pattern string) bool { return strings.Contains(pattern, "*") })
		if len(same) >= l.query.Approved && len(sessionsOf(same)) >= l.query.Sessions && len(exact) > 0 && !strings.Contains(resource, "'") {
			resources = append(resources, strconv.Quote(resource))
			patterns = append(patterns, exact...)
		}
	}
	if len(resources) == 0 {
		return narrow, false
	}
	slices.Sort(resources)
	slices.Sort(patterns)
	narrow.Lines = append(narrow.Lines, fmt.Sprintf("when: '!(resource in [%s])'", strings.Join(resources, ", ")))
	for _, pattern := range slices.Compact(patterns) {
		narrow.Lines = append(narrow.Lines, "- allow: ['"+strings.ReplaceAll(pattern, "'", "''")+"']")
	}
	return narrow, true
}

func sessionsOf(requests []*asked) map[session]bool {
	sessions := map[session]bool{}
	for _, request := range requests {
		sessions[request.session()] = true
	}
	return sessions
}
