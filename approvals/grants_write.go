package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
)

// Add records a grant that a reviewer makes by hand and has it hold on every
// replica. GrantedBy and Channel must have been set by the channel that
// authenticated the reviewer, who grants for themselves; id, time of creation and
// uses are the book's.
//
// It fails with [*InvalidError], [*ForbiddenError], [ErrTooLarge] or
// [ErrStoreUnavailable]; after the last it is not known whether the grant holds: list them.
func (b *GrantBook) Add(ctx context.Context, g Grant) (Grant, error) {
	if g.GrantedBy == "" || g.GrantedBy == ReviewerTimeout {
		return Grant{}, &InvalidError{"granted_by", fmt.Sprintf("%q cannot grant", g.GrantedBy)}
	}
	g.RequestID, g.OnBehalfOf, g.Groups = "", "", nil
	g, err := b.complete(g, nil)
	if err != nil {
		return Grant{}, err
	}
	if err := b.mayGrant(&g, Decision{ReviewerID: g.GrantedBy, ReviewerUser: g.GranterUser}); err != nil {
		return Grant{}, err
	}
	g.GranterUser = ""
	g.CreatedAt = b.now().UTC()
	g.ID = b.ids.next(g.CreatedAt)
	return g, b.write(ctx, g)
}

// complete makes a grant whole and checks it.
func (b *GrantBook) complete(g Grant, r *Request) (Grant, error) {
	g.LastUsedAt, g.Uses = nil, 0
	if err := g.checkGiven(b.now()); err != nil {
		return Grant{}, err
	}
	g, err := b.judge.CheckGrant(g, r)
	if err != nil {
		return Grant{}, err
	}
	if g.ExpiresAt != nil {
		expires := g.ExpiresAt.UTC()
		g.ExpiresAt = &expires
	}
	g.Patterns = slices.Compact(slices.Clone(g.Patterns))
	g.Narrow()
	return g, g.checkWhole()
}

// write records the event of a new grant, then the grant: it holds from then on.
// Written again it changes nothing, also after it was revoked.
func (b *GrantBook) write(ctx context.Context, g Grant) error {
	if err := b.store.EnsureEvent(ctx, grantEvent(EventGrantCreated, g, g.GrantedBy, g.Channel, g.CreatedAt)); err != nil {
		return unavailable("record the event of grant "+g.ID, err)
	}
	revision, err := b.store.PutGrant(ctx, g, 0)
	switch {
	case errors.Is(err, ErrConflict):
		return nil
	case err != nil:
		return unavailable("record grant "+g.ID, err)
	}
	b.keep(g, revision)
	return nil
}

// Revoke ends a grant on every replica and returns it as it was. It fails with
// [ErrUnknownGrant] or [ErrStoreUnavailable]; after the latter revoke it again.
func (b *GrantBook) Revoke(ctx context.Context, id, reviewer, channel string) (Grant, error) {
	if reviewer == "" {
		return Grant{}, &InvalidError{"reviewer_id", "it is missing"}
	}
	if _, err := ulid.ParseStrict(id); err != nil {
		return Grant{}, fmt.Errorf("grant %q: %w", id, ErrUnknownGrant)
	}
	g, _, err := b.store.GetGrant(ctx, id)
	if err != nil {
		return Grant{}, err
	}
	b.mu.Lock()
	b.used[id].addTo(&g)
	b.mu.Unlock()
	if err := b.store.EnsureEvent(ctx, grantEvent(EventGrantRevoked, g, reviewer, channel, b.now().UTC())); err != nil {
		return Grant{}, unavailable("record that grant "+id+" is revoked", err)
	}
	if err := b.store.DeleteGrant(ctx, id); err != nil {
		return Grant{}, unavailable("revoke grant "+id, err)
	}
	b.drop(id)
	return g, nil
}

// grantEvent is what the audit log says of a grant. There is one of each type for
// a grant, whoever writes it.
func grantEvent(typ EventType, g Grant, by, channel string, at time.Time) Event {
	return Event{
		ID: derivedID(g.CreatedAt, g.ID+"/"+string(typ)), Type: typ, Time: at, Tenant: g.Principal.Tenant, Principal: g.Principal,
		RequestID: g.RequestID, SessionID: g.SessionID, ReviewerID: by, Channel: channel, Note: g.Note,
		Rule: "grant " + g.ID, Grant: &g,
	}
}

// propose is the grant that a decision on a request asks for, complete but for
// its id and time.
func (b *GrantBook) propose(r *Request, d Decision) (Grant, error) {
	if !r.AllowRemember {
		return Grant{}, &InvalidError{"action", fmt.Sprintf("decisions on this request are not to be remembered (%s): use approve or deny", r.Rule)}
	}
	if r.RequiredApprovals > 1 {
		return Grant{}, &InvalidError{"action", fmt.Sprintf("the request needs %d approvals, so that none of them is remembered: use approve or deny", r.RequiredApprovals)}
	}
	if err := d.fillGrant(r, b.now()); err != nil {
		return Grant{}, err
	}
	g := Grant{
		Effect: GrantAllow, Scope: d.Scope, Principal: r.Principal, SessionID: r.SessionID, Patterns: d.Patterns,
		GrantedBy: d.ReviewerID, OnBehalfOf: d.OnBehalfOf, Groups: d.rights(), Channel: d.Channel, RequestID: r.ID, Template: d.Template, Note: d.Note, ExpiresAt: d.GrantExpiresAt,
	}
	if d.Action == ActionDenyAlways {
		g.Effect = GrantDeny
	}
	g, err := b.complete(g, r)
	if invalid := (*InvalidError)(nil); errors.As(err, &invalid) && invalid.Field == "expires_at" {
		invalid.Field = "grant_expires_at" // as decisions call it
	}
	if err != nil {
		return Grant{}, err
	}
	return g, b.mayGrant(&g, d)
}

// grantOf is the grant that a decision wrote. It follows from the records alone:
// whoever finds it missing after a crash writes the very same one.
func grantOf(r *Request, d *Decision) (Grant, bool) {
	if d.GrantID == "" {
		return Grant{}, false
	}
	g := Grant{
		ID: d.GrantID, Effect: GrantAllow, Scope: d.Scope, Principal: r.Principal, SessionID: r.SessionID, Patterns: d.Patterns,
		GrantedBy: d.ReviewerID, OnBehalfOf: d.OnBehalfOf, Groups: d.rights(), Channel: d.Channel, RequestID: r.ID, Template: d.Template, Note: d.Note,
		CreatedAt: d.DecidedAt, ExpiresAt: d.GrantExpiresAt,
	}
	if d.Action == ActionDenyAlways {
		g.Effect = GrantDeny
	}
	g.Narrow()
	return g, true
}
