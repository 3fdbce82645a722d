package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/starter"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/intercept"
)

// policyOf returns the policy that judges a session, as `heldcall policy init` writes it, or one that asks
// about every call. It is the only place that chooses one.
func policyOf(s *session, asksAlways bool) (*policy.Policy, error) {
	o := starter.Options{Business: s.Kind == business}
	if s.Workspace != "" {
		o.Workspace = []string{s.Workspace}
	}
	text, err := starter.Policy(o)
	if err != nil {
		return nil, err
	}
	if asksAlways {
		text = []byte("workspace: [.]\ndefault: ask\n")
	}
	p, err := policy.Parse("policy.yaml", text)
	if err != nil {
		return nil, err
	}
	return p.In(p.Workspace().Of(workspace.Agent{Folder: s.Workspace})), nil
}

// principalOf returns for whom the agent of a session acts.
func principalOf(s *session) approvals.Principal {
	return approvals.Principal{Tenant: "default", User: "maya", Agent: s.Agent}
}

// variant is what people remember of the prompts that they approve.
type variant struct {
	name string
	// remember returns the patterns of a grant after a harmless prompt; nil: nothing is
	// remembered. allows reports whether a grant of some patterns would allow the call.
	remember func(suggested []string, allows func(patterns []string) bool) []string
	// asksAlways is set if the policy asks about every call: what people remember is all that allows one.
	asksAlways bool
}

// variants are measured one after another.
var variants = []variant{
	{name: noGrants},
	{name: "always, exact", remember: exact},
	{name: alwaysWidest, remember: widest},
	{name: onlyGrants, remember: widest, asksAlways: true},
}

// The names of the variants to which limits apply.
const (
	noGrants     = "no grants"
	alwaysWidest = "always, widest suggestion"
	onlyGrants   = "no rules: always, widest suggestion"
)

// exact returns the fewest suggested patterns that allow the call. Suggestions go from exact to wider.
func exact(suggested []string, allows func([]string) bool) []string {
	for n := range suggested {
		if allows(suggested[:n+1]) {
			return suggested[:n+1]
		}
	}
	return nil
}

// widest returns all suggested patterns, if they allow the call.
func widest(suggested []string, allows func([]string) bool) []string {
	if len(suggested) == 0 || !allows(suggested) {
		return nil
	}
	return suggested
}

// judged is a call of a session and the verdict on it.
type judged struct {
	call
	verdict policy.Verdict
}

// played is a session, judged from its first call to its last.
type played struct {
	*session
	policy *policy.Policy
	calls  []judged
	grants map[string]*use // by id of the grant
	rules  *judge.Rules
	inUse  *policy.Grants
}

// use is what a remembered decision was good for.
type use struct {
	allowed bool // a later call
	like    bool // a later harmless call is asked about without grants, with the same program and subcommand, or tool
}

// play judges the calls of a session. After each harmless prompt a grant is remembered, if
// the variant does so.
func (v variant) play(s *session) (*played, error) {
	p, err := policyOf(s, v.asksAlways)
	if err != nil {
		return nil, fmt.Errorf("policy of the session %s: %w", s.Session, err)
	}
	g := &played{session: s, policy: p, grants: map[string]*use{}, rules: judge.NewRules(p)}
	for i, c := range s.calls {
		one := judged{c, g.verdict(g.rules, c)}
		for _, id := range one.verdict.Grants {
			g.grants[id].allowed = true
		}
		g.calls = append(g.calls, one)
		if v.remember != nil && c.Label == harmless && one.verdict.Action == policy.Ask && one.verdict.AllowRemember {
			g.remember(v, one, s.calls[i+1:])
		}
	}
	return g, nil
}

func (g *played) verdict(rules *judge.Rules, c call) policy.Verdict {
	from := judge.Origin{
		Principal: principalOf(g.session), Session: g.Session, Run: g.Session,
		At: g.Started.Add(time.Duration(c.At * float64(time.Second))),
	}
	return rules.Verdict(from, intercept.Call{Name: c.Tool, Arguments: judge.ArgumentsText(c.Arguments), FreeText: c.freeText()})
}

func (c *call) freeText() bool { return c.Arguments[0] == '"' }

// remember puts a grant of the patterns that are suggested for a call in force, if one changes the
// verdict.
func (g *played) remember(v variant, c judged, later []call) {
	id := fmt.Sprintf("%s-%d", g.Session, len(g.grants))
	with := func(patterns []string) (*policy.Grants, *judge.Rules) {
		compiled, err := policy.CompileGrant(approvals.Grant{
			ID: id, Effect: approvals.GrantAllow, Scope: approvals.GrantSession,
			Principal: principalOf(g.session), SessionID: g.Session, Patterns: patterns,
		})
		if err != nil || g.policy.CheckGrant(compiled) != nil {
			return nil, nil
		}
		grants := g.inUse.And(compiled)
		return grants, judge.NewRules(g.policy.With(grants))
	}
	patterns := v.remember(c.verdict.Suggested, func(patterns []string) bool {
		_, rules := with(patterns)
		return rules != nil && g.verdict(rules, c.call).Action == policy.Allow
	})
	if patterns == nil {
		return
	}
	g.inUse, g.rules = with(patterns)
	g.grants[id] = &use{like: g.asksAboutLike(c, later)}
}

// asksAboutLike reports whether people are asked about a later harmless call with the shape of a call.
func (g *played) asksAboutLike(c judged, later []call) bool {
	alone, shape := judge.NewRules(g.policy), g.shapeOf(c)
	return slices.ContainsFunc(later, func(one call) bool {
		if one.Label != harmless || one.Tool != c.Tool {
			return false
		}
		v := g.verdict(alone, one)
		return v.Action == policy.Ask && g.shapeOf(judged{one, v}) == shape
	})
}
