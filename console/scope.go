package console

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/console/problem"
)

// The types of this file are all that handlers know of gate, grants, secrets, signals and the audit log. They leave out
// the records of tenants that the sender does not see: such a record is unknown, and a change is refused. The sender is in
// the context; without one, no record is seen.

// noTenants is the scope without a sender: no tenant has this name.
var noTenants = approvals.TenantScope{"\x00"}

// scopeOf returns the tenants of the sender in the context.
func scopeOf(ctx context.Context) approvals.TenantScope {
	if who, known := ctx.Value(identityKey{}).(identity); known {
		return who.Tenants
	}
	return noTenants
}

// nameOf returns the name of the sender in the context.
func nameOf(ctx context.Context) string {
	who, _ := ctx.Value(identityKey{}).(identity)
	return who.Name
}

// withSender returns a context whose sender is who.
func withSender(ctx context.Context, who identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// seesAll refuses a sender who does not see all tenants: what they ask for cannot be divided.
func seesAll(ctx context.Context) error {
	if !scopeOf(ctx).Limited() {
		return nil
	}
	return problem.New(http.StatusForbidden, problem.CodeForbidden,
		fmt.Sprintf("%s sees some tenants only, and this is made from the records of all of them; ask a reviewer without tenants in the configuration", nameOf(ctx)))
}

// mayChangeOf refuses a change for a tenant that the sender does not see, and for all tenants.
func mayChangeOf(ctx context.Context, tenant string) error {
	if scopeOf(ctx).Has(tenant) {
		return nil
	}
	return approvals.Forbidden(nameOf(ctx), "%q is not one of their tenants", tenant)
}

type scopedGate struct{ gate Gate }

func (g scopedGate) Request(ctx context.Context, id string) (approvals.Request, error) {
	request, err := g.gate.Request(ctx, id)
	if err == nil && !scopeOf(ctx).Has(request.Principal.Tenant) {
		return approvals.Request{}, approvals.ErrUnknownRequest
	}
	return request, err
}

func (g scopedGate) Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	f.Tenants = scopeOf(ctx)
	return g.gate.Requests(ctx, f)
}

func (g scopedGate) Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error) {
	d.Tenants = scopeOf(ctx)
	return g.gate.Decide(ctx, d)
}

func (g scopedGate) Signal(ctx context.Context, s approvals.Signal) (approvals.Steered, error) {
	if scopeOf(ctx).Limited() { // others may signal a run before its first call, whose tenant is not known
		if _, err := g.RunByID(ctx, s.RunID); err != nil {
			return approvals.Steered{}, err
		}
	}
	return g.gate.Signal(ctx, s)
}

func (g scopedGate) Runs(ctx context.Context) []approvals.Run {
	scope := scopeOf(ctx)
	return visible(g.gate.Runs(), scope.Limited(), func(run *approvals.Run) bool { return scope.Has(run.Principal.Tenant) })
}

func (g scopedGate) RunByID(ctx context.Context, id string) (approvals.Run, error) {
	run, err := g.gate.RunByID(ctx, id)
	if err == nil && !scopeOf(ctx).Has(run.Principal.Tenant) {
		return approvals.Run{}, approvals.ErrUnknownRun
	}
	return run, err
}

func (g scopedGate) Delegate(ctx context.Context, d approvals.Delegation) (approvals.Delegation, error) {
	if scopeOf(ctx).Limited() && d.From != nameOf(ctx) {
		return approvals.Delegation{}, approvals.Forbidden(nameOf(ctx), "they see some tenants only, so they delegate for themselves only")
	}
	return g.gate.Delegate(ctx, d)
}

func (g scopedGate) Delegation(ctx context.Context, id string) (approvals.Delegation, error) {
	d, err := g.gate.Delegation(ctx, id)
	if err == nil && !seesDelegation(ctx, &d) {
		return approvals.Delegation{}, approvals.ErrUnknownDelegation
	}
	return d, err
}

func (g scopedGate) Delegations(ctx context.Context) []approvals.Delegation {
	return visible(g.gate.Delegations(), scopeOf(ctx).Limited(), func(d *approvals.Delegation) bool { return seesDelegation(ctx, d) })
}

func (g scopedGate) RevokeDelegation(ctx context.Context, id, by string) (approvals.Delegation, error) {
	if _, err := g.Delegation(ctx, id); err != nil {
		return approvals.Delegation{}, err
	}
	return g.gate.RevokeDelegation(ctx, id, by)
}

// seesDelegation reports whether the sender sees a delegation. It is of no tenant: who sees some of them sees their own.
func seesDelegation(ctx context.Context, d *approvals.Delegation) bool {
	return !scopeOf(ctx).Limited() || slices.Contains([]string{d.From, d.To, d.CreatedBy}, nameOf(ctx))
}

// errUnseen is in place of an event that the sender does not see. A stream ends with any other error.
var errUnseen = errors.New("the event is of another tenant")

// Subscribe yields only the number of an event that the sender does not see, and [errUnseen].
func (g scopedGate) Subscribe(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	scope := scopeOf(ctx)
	return func(yield func(approvals.Event, error) bool) {
		for event, err := range g.gate.Subscribe(ctx, from) {
			if err == nil && !scope.Has(event.Tenant) {
				event, err = approvals.Event{Seq: event.Seq}, errUnseen
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

func (g scopedGate) LastSeq(ctx context.Context) (uint64, error) { return g.gate.LastSeq(ctx) }

type scopedGrants struct{ grants Grants }

func (g scopedGrants) Grant(ctx context.Context, id string) (approvals.Grant, error) {
	grant, err := g.grants.Grant(id)
	if err == nil && !scopeOf(ctx).Has(grant.Principal.Tenant) {
		return approvals.Grant{}, approvals.ErrUnknownGrant
	}
	return grant, err
}

func (g scopedGrants) Grants(ctx context.Context, f approvals.GrantFilter) approvals.GrantPage {
	f.Tenants = scopeOf(ctx)
	return g.grants.Grants(f)
}

func (g scopedGrants) Add(ctx context.Context, grant approvals.Grant) (approvals.Grant, error) {
	if err := mayChangeOf(ctx, grant.Principal.Tenant); err != nil {
		return approvals.Grant{}, err
	}
	return g.grants.Add(ctx, grant)
}

func (g scopedGrants) Revoke(ctx context.Context, id, reviewer, channel string) (approvals.Grant, error) {
	if scopeOf(ctx).Limited() {
		if _, err := g.Grant(ctx, id); err != nil {
			return approvals.Grant{}, err
		}
	}
	return g.grants.Revoke(ctx, id, reviewer, channel)
}

func (g scopedGrants) Preview(ctx context.Context, grant approvals.Grant) (approvals.GrantPreview, error) {
	if err := mayChangeOf(ctx, grant.Principal.Tenant); err != nil {
		return approvals.GrantPreview{}, err
	}
	return g.grants.Preview(ctx, grant)
}

// Suggestions are those of a request that was read from [scopedGate].
func (g scopedGrants) Suggestions(ctx context.Context, r *approvals.Request) ([]approvals.Suggestion, error) {
	if !scopeOf(ctx).Has(r.Principal.Tenant) {
		return nil, approvals.ErrUnknownRequest
	}
	return g.grants.Suggestions(ctx, r)
}

type scopedSecrets struct{ secrets *secrets.Secrets }

func (s scopedSecrets) List(ctx context.Context) []approvals.Secret {
	scope := scopeOf(ctx)
	return visible(s.secrets.List(), scope.Limited(), func(secret *approvals.Secret) bool { return scope.Has(secret.Principal.Tenant) })
}

func (s scopedSecrets) Set(ctx context.Context, secret approvals.Secret, value string) (approvals.Secret, error) {
	if err := mayChangeOf(ctx, secret.Principal.Tenant); err != nil {
		return approvals.Secret{}, err
	}
	return s.secrets.Set(ctx, secret, value)
}

func (s scopedSecrets) Delete(ctx context.Context, secret approvals.Secret, reviewer string) (approvals.Secret, error) {
	if err := mayChangeOf(ctx, secret.Principal.Tenant); err != nil {
		return approvals.Secret{}, err
	}
	return s.secrets.Delete(ctx, secret, reviewer)
}

type scopedSignals struct{ signals *runs.Signals }

func (s scopedSignals) InForce(ctx context.Context) []approvals.PrincipalSignal {
	scope := scopeOf(ctx)
	return visible(s.signals.InForce(), scope.Limited(), func(signal *approvals.PrincipalSignal) bool { return scope.Has(signal.Principal.Tenant) })
}

func (s scopedSignals) Send(ctx context.Context, signal approvals.PrincipalSignal) (approvals.PrincipalSignal, error) {
	if err := mayChangeOf(ctx, signal.Principal.Tenant); err != nil {
		return approvals.PrincipalSignal{}, err
	}
	return s.signals.Send(ctx, signal)
}

type scopedAudit struct {
	audit Audit
	// differences compares the state with the log.
	differences func(context.Context) ([]audit.Difference, error)
}

func (a scopedAudit) EntriesFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error] {
	scope := scopeOf(ctx)
	return func(yield func(audit.Entry, error) bool) {
		for entry, err := range a.audit.EntriesFrom(ctx, after, since) {
			if err == nil && !scope.Has(entry.Event.Tenant) {
				continue
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

func (a scopedAudit) Differences(ctx context.Context) ([]audit.Difference, error) {
	if err := seesAll(ctx); err != nil {
		return nil, err
	}
	return a.differences(ctx)
}

// scopedPropose returns the proposals for a sender who sees all tenants.
func scopedPropose(propose Propose) Propose {
	return func(ctx context.Context, q approvals.ProposalQuery) (approvals.Proposals, error) {
		if err := seesAll(ctx); err != nil {
			return approvals.Proposals{}, err
		}
		return propose(ctx, q)
	}
}

// visible returns the records that the sender sees.
func visible[T any](all []T, limited bool, sees func(*T) bool) []T {
	if !limited {
		return all
	}
	seen := []T{}
	for i := range all {
		if sees(&all[i]) {
			seen = append(seen, all[i])
		}
	}
	return seen
}
