package grants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
)

// Add records a grant that a reviewer makes by hand and has it hold on every
// replica. GrantedBy and Channel must have been set by the channel that
// authenticated the reviewer, who grants for themselves; id, time of creation and
// uses are the book's.
//
// It fails with [*InvalidError], [*ForbiddenError], [ErrTooLarge] or
// [ErrStoreUnavailable]; after the last it is not known whether the grant holds: list them.
func (b *Grants) Add(ctx context.Context, g approvals.Grant) (approvals.Grant, error) {
	if g.GrantedBy == "" || g.GrantedBy == approvals.ReviewerTimeout {
		return approvals.Grant{}, &approvals.InvalidError{Field: "granted_by", Reason: fmt.Sprintf("%q cannot grant", g.GrantedBy)}
	}
	g.RequestID, g.OnBehalfOf, g.Groups = "", "", nil
	g, err := b.complete(g, nil)
	if err != nil {
		return approvals.Grant{}, err
	}
	if err := b.mayGrant(&g, approvals.Decision{ReviewerID: g.GrantedBy, ReviewerUser: g.GranterUser}); err != nil {
		return approvals.Grant{}, err
	}
	g.GranterUser = ""
	g.CreatedAt = b.now().UTC()
	g.ID = b.ids.Next(g.CreatedAt)
	return g, b.Write(ctx, g)
}

// complete makes a grant whole and checks it.
func (b *Grants) complete(g approvals.Grant, r *approvals.Request) (approvals.Grant, error) {
	g.LastUsedAt, g.Uses = nil, 0
	if err := g.CheckGiven(b.now()); err != nil {
		return approvals.Grant{}, err
	}
	g, err := b.judge.CheckGrant(g, r)
	if err != nil {
		return approvals.Grant{}, err
	}
	if g.ExpiresAt != nil {
		expires := g.ExpiresAt.UTC()
		g.ExpiresAt = &expires
	}
	g.Patterns = slices.Compact(slices.Clone(g.Patterns))
	g.Narrow()
	return g, g.CheckWhole()
}

// Write records the event of a new grant, then the grant: it holds from then on.
// Written again it changes nothing, also after it was revoked.
func (b *Grants) Write(ctx context.Context, g approvals.Grant) error {
	if err := b.store.EnsureEvent(ctx, grantEvent(approvals.EventGrantCreated, g, g.GrantedBy, g.Channel, g.CreatedAt)); err != nil {
		return approvals.Unavailable("record the event of grant "+g.ID, err)
	}
	revision, err := b.store.PutGrant(ctx, g, 0)
	switch {
	case errors.Is(err, approvals.ErrConflict):
		return nil
	case err != nil:
		return approvals.Unavailable("record grant "+g.ID, err)
	}
	b.keep(g, revision)
	return nil
}

// Revoke ends a grant on every replica and returns it as it was. It fails with
// [ErrUnknownGrant] or [ErrStoreUnavailable]; after the latter revoke it again.
func (b *Grants) Revoke(ctx context.Context, id, reviewer, channel string) (approvals.Grant, error) {
	if reviewer == "" {
		return approvals.Grant{}, &approvals.InvalidError{Field: "reviewer_id", Reason: "it is missing"}
	}
	if _, err := ulid.ParseStrict(id); err != nil {
		return approvals.Grant{}, fmt.Errorf("grant %q: %w", id, approvals.ErrUnknownGrant)
	}
	g, _, err := b.store.GetGrant(ctx, id)
	if err != nil {
		return approvals.Grant{}, err
	}
	b.mu.Lock()
	b.used[id].addTo(&g)
	b.mu.Unlock()
	if err := b.store.EnsureEvent(ctx, grantEvent(approvals.EventGrantRevoked, g, reviewer, channel, b.now().UTC())); err != nil {
		return approvals.Grant{}, approvals.Unavailable("record that grant "+id+" is revoked", err)
	}
	if err := b.store.DeleteGrant(ctx, id); err != nil {
		return approvals.Grant{}, approvals.Unavailable("revoke grant "+id, err)
	}
	b.drop(id)
	return g, nil
}

// grantEvent is what the audit log says of a grant. There is one of each type for
// a grant, whoever writes it.
func grantEvent(typ approvals.EventType, g approvals.Grant, by, channel string, at time.Time) approvals.Event {
	return approvals.Event{
		ID: approvals.DerivedID(g.CreatedAt, g.ID+"/"+string(typ)), Type: typ, Time: at, Tenant: g.Principal.Tenant, Principal: g.Principal,
		RequestID: g.RequestID, SessionID: g.SessionID, ReviewerID: by, Channel: channel, Note: g.Note,
		Rule: "grant " + g.ID, Grant: &g,
	}
}

// Propose is the grant that a decision on a request asks for, complete but for
// its id and time.
func (b *Grants) Propose(r *approvals.Request, d approvals.Decision) (approvals.Grant, error) {
	if !r.AllowRemember {
		return approvals.Grant{}, &approvals.InvalidError{Field: "action", Reason: fmt.Sprintf("decisions on this request are not to be remembered (%s): use approve or deny", r.Rule)}
	}
	if r.RequiredApprovals > 1 {
		return approvals.Grant{}, &approvals.InvalidError{Field: "action", Reason: fmt.Sprintf("the request needs %d approvals, so that none of them is remembered: use approve or deny", r.RequiredApprovals)}
	}
	if err := d.FillGrant(r, b.now()); err != nil {
		return approvals.Grant{}, err
	}
	g := approvals.Grant{
		Effect: approvals.GrantAllow, Scope: d.Scope, Principal: r.Principal, SessionID: r.SessionID, Patterns: d.Patterns,
		GrantedBy: d.ReviewerID, OnBehalfOf: d.OnBehalfOf, Groups: d.Rights(), Channel: d.Channel, RequestID: r.ID, Template: d.Template, Note: d.Note, ExpiresAt: d.GrantExpiresAt,
	}
	if d.Action == approvals.ActionDenyAlways {
		g.Effect = approvals.GrantDeny
	}
	g, err := b.complete(g, r)
	if invalid := (*approvals.InvalidError)(nil); errors.As(err, &invalid) && invalid.Field == "expires_at" {
		invalid.Field = "grant_expires_at" // as decisions call it
	}
	if err != nil {
		return approvals.Grant{}, err
	}
	return g, b.mayGrant(&g, d)
}
