package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
	approvalgrants "github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/policy"
)

// grants are the grants in force, made ready for policy to judge by, and what
// policy has to say of new ones.
type grants struct {
	policies  *policies
	templates []approvals.GrantTemplate
	now       func() time.Time
	log       *slog.Logger

	inForce atomic.Pointer[policy.Grants]
	mu      sync.Mutex
	loading []*policy.CompiledGrant // until those recorded before are all known
	loaded  bool
}

var _ approvalgrants.Judge = (*grants)(nil)

// keep has a grant decide from now on.
func (g *grants) keep(one approvals.Grant) {
	compiled, err := policy.CompileGrant(one)
	if err != nil {
		g.log.Error("a recorded grant cannot be read and does not hold; revoke it", "grant", one.ID, "error", err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.loaded {
		g.loading = append(g.loading, compiled)
		return
	}
	g.inForce.Store(g.inForce.Load().And(compiled))
}

// drop has a grant decide no more.
func (g *grants) drop(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.load()
	g.inForce.Store(g.inForce.Load().Without(id))
}

// load puts those recorded before into force, all at once.
func (g *grants) load() {
	if !g.loaded {
		g.inForce.Store(policy.NewGrants(g.loading...))
		g.loading, g.loaded = nil, true
	}
}

// CheckGrant completes a grant and says why policy does not take it.
func (g *grants) CheckGrant(one approvals.Grant, r *approvals.Request) (approvals.Grant, error) {
	if err := g.fill(&one); err != nil {
		return one, err
	}
	if err := chooseScope(&one, r); err != nil {
		return one, err
	}
	if r == nil {
		_, err := compile(one, g.policies.forCallsIn(one))
		return one, err
	}
	call, err := requestedCall(r)
	if err != nil {
		return one, err
	}
	call.Now = g.now()
	rules := g.policies.forCallsOf(call.Principal)
	compiled, err := compile(one, rules)
	if err != nil {
		return one, err
	}
	return one, decides(compiled, one, call, rules)
}

// fill takes from the template what a grant made of it has.
func (g *grants) fill(one *approvals.Grant) error {
	if one.Template == "" {
		return nil
	}
	i := slices.IndexFunc(g.templates, func(t approvals.GrantTemplate) bool { return t.Name == one.Template })
	if i < 0 {
		return &approvals.InvalidError{Field: "template", Reason: fmt.Sprintf("there is no template %q; grants.templates in the configuration names them", one.Template)}
	}
	t := g.templates[i]
	switch {
	case len(one.Patterns) > 0:
		return &approvals.InvalidError{Field: "patterns", Reason: "the template has them; give either"}
	case one.Effect != "" && one.Effect != t.Effect:
		return &approvals.InvalidError{Field: "template", Reason: fmt.Sprintf("%q is one that says %s, not %s", t.Name, t.Effect, one.Effect)}
	}
	one.Effect, one.Patterns = t.Effect, t.Patterns
	if one.Scope == "" {
		one.Scope = t.Scope
	}
	if one.ExpiresAt == nil && t.Lasts > 0 {
		expires := g.now().Add(t.Lasts).UTC()
		one.ExpiresAt = &expires
	}
	return nil
}

// chooseScope fills in the scope where none is named, and refuses one that the
// rules which asked do not permit.
func chooseScope(one *approvals.Grant, r *approvals.Request) error {
	permitted := approvals.GrantScopes()
	if r != nil && len(r.RememberScopes) > 0 {
		permitted = slices.DeleteFunc(permitted, func(s approvals.GrantScope) bool { return !slices.Contains(r.RememberScopes, s) })
	}
	switch {
	case one.Scope == "" && len(permitted) > 0:
		one.Scope = permitted[0]
	case !slices.Contains(permitted, one.Scope):
		return &approvals.InvalidError{Field: "scope", Reason: fmt.Sprintf("the rule at %s permits %v only", r.Rule, r.RememberScopes)}
	}
	return nil
}

// compile reads the patterns and has policies check them.
func compile(one approvals.Grant, all []*policy.Policy) (*policy.CompiledGrant, error) {
	compiled, err := policy.CompileGrant(one)
	for _, rules := range all {
		if err == nil {
			err = rules.CheckGrant(compiled)
		}
	}
	if err != nil {
		return nil, &approvals.InvalidError{Field: "patterns", Reason: err.Error()}
	}
	return compiled, nil
}

// covers reports whether a grant alone would decide a call under each policy that
// may be the call's.
func covers(compiled *policy.CompiledGrant, call policy.Call, all []*policy.Policy) bool {
	return !slices.ContainsFunc(all, func(rules *policy.Policy) bool { return !rules.Covers(compiled, call) })
}

// decides makes sure that a grant does to the very call what its reviewer wants
// of all that are like it, and is for no others: only a template, which is not the
// reviewer's, may have patterns for other calls too.
func decides(compiled *policy.CompiledGrant, one approvals.Grant, call policy.Call, all []*policy.Policy) error {
	if len(one.Patterns) == 0 {
		return &approvals.InvalidError{Field: "patterns", Reason: "no pattern can be suggested for this call; write them, or use approve or deny"}
	}
	if !covers(compiled, call, all) {
		return &approvals.InvalidError{Field: "patterns", Reason: "they do not cover this very call"}
	}
	for _, rules := range all {
		if other := rules.Unrelated(compiled, call); other != "" && one.Template == "" {
			return &approvals.InvalidError{Field: "patterns", Reason: fmt.Sprintf("%q has nothing to do with this call; an administrator grants it by hand", other)}
		}
	}
	want := policy.Allow
	if one.Effect == approvals.GrantDeny {
		want = policy.Deny
	}
	for _, rules := range all {
		if v := rules.With(policy.NewGrants(compiled)).Judge(call); v.Action != want {
			return &approvals.InvalidError{Field: "action", Reason: fmt.Sprintf(
				"a grant would not change what policy says of such calls (%s: %s); use approve or deny", v.Rule, v.Reason)}
		}
	}
	return nil
}

// requestedCall is the call that a request is about, as the model made it.
func requestedCall(r *approvals.Request) (policy.Call, error) {
	arguments := string(r.Arguments)
	switch {
	case r.Details.RawArguments != "":
		arguments = r.Details.RawArguments
	case r.Details.FreeText:
		if err := json.Unmarshal(r.Arguments, &arguments); err != nil {
			return policy.Call{}, fmt.Errorf("read the arguments of request %s: %w", r.ID, err)
		}
	}
	return policy.Call{
		Tool: r.ToolName, Arguments: arguments, FreeText: r.Details.FreeText, Fixed: r.Details.Fixed, Ambiguous: r.Details.Doubts,
		Principal: r.Principal, Session: r.SessionID, Run: r.RunID, Model: r.Model, Dialect: r.Dialect,
	}, nil
}

// GrantCovers makes of a grant what says whether it would decide a recorded call.
func (g *grants) GrantCovers(one approvals.Grant) func(approvals.Event) bool {
	compiled, err := policy.CompileGrant(one)
	if err != nil {
		return func(approvals.Event) bool { return false }
	}
	return func(e approvals.Event) bool {
		call, _, recorded := policy.RecordedCall(&e)
		call.Now = g.now()
		return recorded && covers(compiled, call, g.policies.forCallsOf(e.Principal))
	}
}

// GrantIsFor reports whether a grant is for a tool.
func (g *grants) GrantIsFor(one approvals.Grant, tool string) bool {
	compiled, err := policy.CompileGrant(one)
	return err == nil && compiled.IsFor(tool)
}

// startGrants reads the grants before anything is judged: one that denies must
// hold from the first call on.
func (a *App) startGrants(ctx context.Context, running *lifecycle) error {
	o := approvalgrants.Options{
		Store: a.store, Judge: a.grants, Log: a.log.With("component", "grants"), Kept: a.grants.keep, Dropped: a.grants.drop,
	}
	if a.reviewers != nil {
		o.NoSelfApproval, o.Profile = !a.config.Console.SelfApproval, a.reviewers.Profile
	}
	for _, c := range a.config.Proxy.Clients {
		o.Principals = append(o.Principals, c.principal())
	}
	a.book = approvalgrants.New(o)
	running.background("grants", a.book.Run)
	select {
	case <-a.book.Ready():
		a.grants.mu.Lock()
		defer a.grants.mu.Unlock()
		a.grants.load()
		return nil
	case err := <-running.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
