package policy

import (
	"fmt"

	"github.com/heldcall/heldcall/approvals"
)

// Allowing returns a policy with one more rule, which allows what a pattern covers.
func Allowing(p *Policy, pattern string) (*Policy, error) {
	rules, err := p.rules.Allowing(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q %w", pattern, err)
	}
	next := *p
	next.rules = rules
	return &next, nil
}

// Concerns reports whether a pattern in a policy matches a call, as in a deny rule, or covers a part of
// it, as in an allow rule.
func Concerns(p *Policy, pattern string, c Call) bool {
	for _, effect := range []approvals.GrantEffect{approvals.GrantAllow, approvals.GrantDeny} {
		one, err := CompileGrant(approvals.Grant{Effect: effect, Patterns: []string{pattern}})
		if err == nil && p.Unrelated(one, c) == "" {
			return true
		}
	}
	return false
}
