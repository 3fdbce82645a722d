package policy

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// Allowing returns a policy with one more rule, which allows what a pattern covers.
func (p *Policy) Allowing(pattern string) (*Policy, error) {
	rules, err := p.rules.Allowing(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q %w", pattern, err)
	}
	next := *p
	next.rules = rules
	return &next, nil
}

// Proposal is a pattern that is compared with calls: see [Parsed.Concerns].
type Proposal struct {
	allow, deny *rule.Pattern
}

// NewProposal compiles a pattern.
func NewProposal(pattern string) (*Proposal, error) {
	var both []*rule.Pattern
	for _, effect := range []approvals.GrantEffect{approvals.GrantAllow, approvals.GrantDeny} {
		one, err := CompileGrant(approvals.Grant{Effect: effect, Patterns: []string{pattern}})
		if err != nil {
			return nil, err
		}
		both = append(both, one.patterns[0])
	}
	return &Proposal{both[0], both[1]}, nil
}

// Parsed is a call that is compared with many patterns.
type Parsed struct{ e *evaluation }

// ParseCall reads a call as a policy does.
func (p *Policy) ParseCall(c Call) *Parsed { return &Parsed{e: p.evaluate(c)} }

// Concerns reports whether a pattern in the policy matches the call, as in a deny rule, or covers a part
// of it, as in an allow rule.
func (c *Parsed) Concerns(p *Proposal) bool {
	return c.e.partly(p.allow) || c.e.match(p.deny) == match.Yes
}

// Coverage is which parts of a call the rules of the policy cover, and which of some proposals do.
type Coverage struct {
	parts []part
	any   []int // proposals that are for any call of the tool
}

// part is a resource of a call, or a command of a script and those that together do the same.
type part struct {
	byRules bool
	by      []int // proposals, in their order
	instead []part
}

// Coverage compares the parts of the call with the rules of the policy and with proposals.
func (c *Parsed) Coverage(all []*Proposal) *Coverage {
	e, found := c.e, &Coverage{}
	for i, p := range all {
		if p.allow.Any && p.allow.IsFor(e.c.Call.Tool, e.c.Kind) {
			found.any = append(found.any, i)
		}
	}
	rules := []*rule.Index{e.policy.rules.Allow}
	for i := range e.c.Resources() {
		r := &e.c.Candidates[i]
		switch {
		case e.c.Kind != call.Shell:
			one := part{byRules: e.allowedCandidate(true, rules, r, new([]*rule.Pattern))}
			one.add(all, func(p *rule.Pattern) bool { return p.IsFor(e.c.Call.Tool, e.c.Kind) && p.Covers(e.c, r) })
			found.parts = append(found.parts, one)
		default:
			commands, ok := r.Script.ToCover(true)
			if !ok {
				found.parts = append(found.parts, part{})
			}
			for _, command := range commands {
				found.parts = append(found.parts, c.partOf(command, rules, all))
			}
		}
	}
	return found
}

func (c *Parsed) partOf(command *shell.Command, rules []*rule.Index, all []*Proposal) part {
	e := c.e
	one := part{byRules: e.allowedCommand(rules, command, new([]*rule.Pattern))}
	one.add(all, func(p *rule.Pattern) bool { return p.IsFor(e.c.Call.Tool, e.c.Kind) && p.CoversCommand(e.c, command) })
	for _, same := range command.Instead() {
		one.instead = append(one.instead, c.partOf(same, rules, all))
	}
	return one
}

func (p *part) add(all []*Proposal, covers func(*rule.Pattern) bool) {
	for i, proposal := range all {
		if covers(proposal.allow) {
			p.by = append(p.by, i)
		}
	}
}

// With returns the proposals, of some, on which the verdict with rules for these depends: the first for
// each part. It reports false if a part is left that neither they nor the rules cover, so that they
// change nothing.
func (v *Coverage) With(in func(i int) bool) (used []int, all bool) {
	for _, i := range v.any {
		if in(i) {
			used, all = append(used, i), true
		}
	}
	if covered := coveredBy(v.parts, in, &used); covered && len(v.parts) > 0 {
		all = true
	}
	slices.Sort(used)
	return slices.Compact(used), all
}

func coveredBy(parts []part, in func(i int) bool, used *[]int) bool {
	all := true
	for i := range parts {
		p := &parts[i]
		first := slices.IndexFunc(p.by, in)
		if first >= 0 {
			*used = append(*used, p.by[first])
		}
		together := coveredBy(p.instead, in, used) && len(p.instead) > 0
		all = all && (p.byRules || first >= 0 || together)
	}
	return all
}
