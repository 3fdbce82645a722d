package judge

import (
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

// KeepGrant puts a grant in force, at the earliest when [Judge.LoadGrants] is called.
func (j *Judge) KeepGrant(g approvals.Grant) {
	compiled, err := policy.CompileGrant(g)
	if err != nil {
		j.log.Error("a recorded grant cannot be compiled and is not in force; revoke it", "grant", g.ID, "error", err)
		return
	}
	j.grants.add(compiled)
}

// DropGrant ends a grant.
func (j *Judge) DropGrant(id string) { j.grants.remove(id) }

// LoadGrants puts all grants kept so far in force. Call it when all recorded grants have
// been read.
func (j *Judge) LoadGrants() { j.grants.load() }

// CheckGrant completes a grant that remembers the decision on a request, or that is made
// by hand if r is nil. It fails with [*approvals.InvalidError] if policy does not permit
// the grant.
func (j *Judge) CheckGrant(g approvals.Grant, r *approvals.Request) (approvals.Grant, error) {
	if err := j.applyTemplate(&g); err != nil {
		return g, err
	}
	if err := chooseScope(&g, r); err != nil {
		return g, err
	}
	if r == nil {
		_, err := compile(g, j.ofGrant(g))
		return g, err
	}
	all := j.ofRequest(r)
	if g.Window {
		return g, checkWindow(all)
	}
	if len(all) == 0 {
		return g, approvals.Invalid("action", "the policy %s of this client is not configured here; use approve or deny", r.Details.Policy)
	}
	compiled, err := compile(g, all)
	if err != nil {
		return g, err
	}
	from, c := requested(r)
	from.At = j.now()
	return g, checkEffect(compiled, g, from.call(c), all)
}

// checkWindow refuses a trust window where it would cover no call.
func checkWindow(all []*policy.Policy) error {
	if len(all) == 0 || slices.ContainsFunc(all, func(p *policy.Policy) bool { return p.Workspace() == nil }) {
		return approvals.Invalid("window", "the policy of this client has no workspace, so a trust window would cover no call")
	}
	return nil
}

// applyTemplate completes a grant by the template that it names.
func (j *Judge) applyTemplate(g *approvals.Grant) error {
	if g.Template == "" {
		return nil
	}
	i := slices.IndexFunc(j.templates, func(t approvals.GrantTemplate) bool { return t.Name == g.Template })
	if i < 0 {
		return approvals.Invalid("template", "there is no template %q; grants.templates in the configuration names them", g.Template)
	}
	t := j.templates[i]
	switch {
	case len(g.Patterns) > 0:
		return approvals.Invalid("patterns", "the template has patterns too; give one of them")
	case g.Effect != "" && g.Effect != t.Effect:
		return approvals.Invalid("template", "%q is a template for %s, not %s", t.Name, t.Effect, g.Effect)
	}
	g.Effect, g.Patterns = t.Effect, t.Patterns
	if g.Scope == "" {
		g.Scope = t.Scope
	}
	if g.ExpiresAt == nil && t.Lasts > 0 {
		expires := j.now().Add(t.Lasts).UTC()
		g.ExpiresAt = &expires
	}
	return nil
}

// chooseScope sets a missing scope. It refuses a scope that the rules which ask about the
// request do not permit.
func chooseScope(g *approvals.Grant, r *approvals.Request) error {
	permitted := approvals.GrantScopes()
	if r != nil && len(r.RememberScopes) > 0 {
		permitted = slices.DeleteFunc(permitted, func(s approvals.GrantScope) bool { return !slices.Contains(r.RememberScopes, s) })
	}
	switch {
	case g.Scope == "" && len(permitted) > 0:
		g.Scope = permitted[0]
	case !slices.Contains(permitted, g.Scope):
		return approvals.Invalid("scope", "the rule at %s permits %v only", r.Rule, r.RememberScopes)
	}
	return nil
}

// compile compiles the patterns of a grant and checks them by each policy.
func compile(g approvals.Grant, all []*policy.Policy) (*policy.CompiledGrant, error) {
	compiled, err := policy.CompileGrant(g)
	for _, rules := range all {
		if err == nil {
			err = rules.CheckGrant(compiled)
		}
	}
	if err != nil {
		return nil, approvals.Invalid("patterns", "%s", err)
	}
	return compiled, nil
}

// covers reports whether a grant alone would decide a call under each of several
// policies.
func covers(compiled *policy.CompiledGrant, call policy.Call, all []*policy.Policy) bool {
	return !slices.ContainsFunc(all, func(rules *policy.Policy) bool { return !rules.Covers(compiled, call) })
}

// checkEffect refuses a grant that would not decide the call of the request like its
// reviewer, or that has a pattern for unrelated calls. Only a template, which an
// administrator wrote, may have such patterns.
func checkEffect(compiled *policy.CompiledGrant, g approvals.Grant, call policy.Call, all []*policy.Policy) error {
	switch {
	case len(g.Patterns) == 0:
		return approvals.Invalid("patterns", "no pattern can be suggested for this call; write them, or use approve or deny")
	case !covers(compiled, call, all):
		return approvals.Invalid("patterns", "they do not cover this very call")
	}
	want := policy.Allow
	if g.Effect == approvals.GrantDeny {
		want = policy.Deny
	}
	for _, rules := range all {
		if other := rules.Unrelated(compiled, call); other != "" && g.Template == "" {
			return approvals.Invalid("patterns", "%q has nothing to do with this call; an administrator grants it by hand", other)
		}
		if v := rules.With(policy.NewGrants(compiled)).Judge(call); v.Action != want {
			return approvals.Invalid("action", "a grant would not change the verdict on such calls (%s: %s); use approve or deny: no grant overrides a deny rule, or an ask rule without remember: true", v.Rule, v.Reason)
		}
	}
	return nil
}

// GrantCovers returns a function that reports whether a grant alone would decide the call
// of an event, under each policy that may judge that call.
func (j *Judge) GrantCovers(g approvals.Grant) func(approvals.Event) bool {
	compiled, err := policy.CompileGrant(g)
	if err != nil {
		return func(approvals.Event) bool { return false }
	}
	return func(e approvals.Event) bool {
		from, c, _, recorded := Recorded(&e)
		from.At = j.now()
		return recorded && covers(compiled, from.call(c), j.ofPrincipal(e.Principal))
	}
}

// GrantIsFor reports whether any pattern of a grant is for a tool.
func (j *Judge) GrantIsFor(g approvals.Grant, tool string) bool {
	compiled, err := policy.CompileGrant(g)
	return err == nil && compiled.IsFor(tool)
}
