package judge

import (
	"context"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/wrapped"
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
		compiled, err := compile(g, j.ofGrant(g))
		if err == nil && g.Folder != "" {
			err = j.checkFolder(compiled)
		}
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

// checkFolder refuses a folder that holds files of heldcall, or that no policy adds to a workspace.
func (j *Judge) checkFolder(folder *policy.CompiledGrant) error {
	for _, s := range j.Sources() {
		if own := folder.Holds(append(slices.Clip(s.options.Own), s.file)...); own != "" {
			return approvals.Invalid("folder", "it holds heldcall's own file %s, which agents may not write", own)
		}
	}
	if !slices.ContainsFunc(j.ofGrant(folder.Grant()), func(p *policy.Policy) bool { return p.Workspace() != nil }) {
		return approvals.Invalid("folder", "the policy of this run names no workspace, so that no rule is for its folders: write workspace: in the policy")
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
	switch {
	case err != nil && g.Folder != "":
		return nil, approvals.Invalid("folder", "%s", err)
	case err != nil:
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

// AllowedBy reports whether the call of a request that waits would be allowed if it came now, and a grant is a reason. Each
// policy that may judge the call must allow it. A call that wraps others is left to people: the request does not have the
// tools that were offered.
func (j *Judge) AllowedBy(ctx context.Context, r approvals.Request, grant string) bool {
	verdicts := j.again(ctx, &r)
	for _, v := range verdicts {
		if v.Action != policy.Allow || !slices.Contains(v.Grants, grant) {
			return false
		}
	}
	return len(verdicts) > 0
}

// ByPolicy returns the decision of the policies in force on a request that waits, as if its call came now; ok is false if
// they ask people. A policy in the workspace of its agent only denies.
func (j *Judge) ByPolicy(ctx context.Context, r approvals.Request) (d approvals.Decision, ok bool) {
	verdicts := j.again(ctx, &r)
	if r.Kind != approvals.KindPermission || len(verdicts) == 0 {
		return d, false
	}
	first := verdicts[0]
	if slices.ContainsFunc(verdicts, func(v policy.Verdict) bool { return v.Action != first.Action }) {
		return d, false
	}
	d = approvals.Decision{RequestID: r.ID, ReviewerID: approvals.ReviewerPolicy, Rule: first.Rule, Note: first.Reason}
	switch first.Action {
	case policy.Deny:
		d.Action = approvals.ActionDeny
		return d, true
	case policy.Allow:
		d.Action = approvals.ActionApprove
		return d, r.RulesApprove() && !j.inWorkspace(r.Details.Policy)
	}
	return d, false
}

// inWorkspace reports whether a policy, or any if name is "", is in the workspace of its agent.
func (j *Judge) inWorkspace(name string) bool {
	return slices.ContainsFunc(j.Sources(), func(s *Source) bool { return (name == "" || s.name == name) && s.inOwnWorkspace() })
}

// again judges the call of a request that waits as if it came now, by each policy that may judge it. It returns nothing for
// a call that wraps others, or that rewrite rules would change now.
func (j *Judge) again(ctx context.Context, r *approvals.Request) (verdicts []policy.Verdict) {
	from, c := requested(r)
	from.At = j.now()
	if reading := wrapped.Read(c, nil); reading.Kind != wrapped.None {
		return nil
	}
	for _, p := range j.ofRequest(r) {
		rules := Rules{policy: p.With(j.grants.current()), counter: j.counter, secrets: j.secrets}
		v, charge, err := rules.Count(ctx, rules.Verdict(from, c))
		charge.Return() // it was charged when it came
		if err != nil || (v.Arguments != "" && !SameArguments(r.Arguments, intercept.Call{Arguments: v.Arguments})) {
			return nil
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}
