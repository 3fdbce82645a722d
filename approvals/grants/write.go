package grants

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
)

// Add records a grant that a reviewer makes by hand, for every replica. The channel that
// authenticated the reviewer must have set GrantedBy and Channel. Add sets the id, the time
// of creation and the uses.
//
// It fails with [*approvals.InvalidError], [*approvals.ForbiddenError],
// [approvals.ErrTooLarge] or [approvals.ErrStoreUnavailable]; after the last it is unknown
// whether the grant is in force.
func (gs *Grants) Add(ctx context.Context, g approvals.Grant) (approvals.Grant, error) {
	if g.GrantedBy == "" || approvals.Automatic(g.GrantedBy) {
		return approvals.Grant{}, approvals.Invalid("granted_by", "%q cannot grant", g.GrantedBy)
	}
	g.RequestID, g.OnBehalfOf, g.Groups = "", "", nil
	g, err := gs.complete(g, nil)
	if err != nil {
		return approvals.Grant{}, err
	}
	if err := gs.rights.check(&g, approvals.Decision{ReviewerID: g.GrantedBy, ReviewerUser: g.GranterUser}); err != nil {
		return approvals.Grant{}, err
	}
	if err := gs.maskWritten(ctx, &g.Note, &g.Patterns); err != nil {
		return approvals.Grant{}, err
	}
	g.GranterUser = ""
	g.CreatedAt = gs.now().UTC()
	g.ID = gs.ids.Next(g.CreatedAt)
	return g, gs.Write(ctx, g)
}

// complete completes a grant and checks it.
func (gs *Grants) complete(g approvals.Grant, r *approvals.Request) (approvals.Grant, error) {
	g.LastUsedAt, g.Uses = nil, 0
	if err := g.CheckGiven(gs.now()); err != nil {
		return approvals.Grant{}, err
	}
	g, err := gs.judge.CheckGrant(g, r)
	if err != nil {
		return approvals.Grant{}, err
	}
	if g.ExpiresAt != nil {
		expires := g.ExpiresAt.UTC()
		g.ExpiresAt = &expires
	}
	if g.Patterns = slices.Compact(slices.Clone(g.Patterns)); g.Patterns == nil {
		g.Patterns = []string{}
	}
	g.Narrow()
	return g, g.CheckWhole()
}

// Write records the event of a new grant, then the grant, which is then in force. It does
// nothing if the grant was written before, even if it was revoked since.
func (gs *Grants) Write(ctx context.Context, g approvals.Grant) error {
	if err := gs.store.EnsureEvent(ctx, grantEvent(g.BeginEvent(), g, g.GrantedBy, g.Channel, g.CreatedAt)); err != nil {
		return approvals.Unavailable("record the event of grant "+g.ID, err)
	}
	return gs.finish(ctx, g.ID, func(ctx context.Context) error {
		revision, err := gs.store.PutGrant(ctx, g, 0)
		switch {
		case errors.Is(err, approvals.ErrConflict):
			return nil
		case err != nil:
			return approvals.Unavailable("record grant "+g.ID, err)
		}
		gs.apply(g, revision)
		return nil
	})
}

// finish writes the record of a grant as its event in the log says. If that fails, [Grants.Run] tries again
// until it succeeds: the state must be as the log says.
func (gs *Grants) finish(ctx context.Context, id string, write func(context.Context) error) error {
	err := write(ctx)
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if errors.Is(err, approvals.ErrStoreUnavailable) {
		gs.unfinished[id] = write
	} else {
		delete(gs.unfinished, id)
	}
	return err
}

// finishAll writes the records that could not be written before.
func (gs *Grants) finishAll(ctx context.Context) {
	gs.mu.Lock()
	unfinished := maps.Clone(gs.unfinished)
	gs.mu.Unlock()
	for id, write := range unfinished {
		if err := gs.finish(ctx, id, write); err != nil {
			gs.log.Warn("failed to write a grant as the audit log has it; trying again", "grant", id, "error", err)
		}
	}
}

// Revoke deletes a grant on every replica and returns its last state. It fails with
// [approvals.ErrUnknownGrant] or [approvals.ErrStoreUnavailable]; after the latter, revoke
// the grant again.
func (gs *Grants) Revoke(ctx context.Context, id, reviewer, channel string) (approvals.Grant, error) {
	if reviewer == "" {
		return approvals.Grant{}, approvals.Invalid("reviewer_id", "it is missing")
	}
	if _, err := ulid.ParseStrict(id); err != nil {
		return approvals.Grant{}, fmt.Errorf("grant %q: %w", id, approvals.ErrUnknownGrant)
	}
	g, _, err := gs.store.GetGrant(ctx, id)
	if err != nil {
		return approvals.Grant{}, err
	}
	gs.mu.Lock()
	gs.used[id].addTo(&g)
	gs.mu.Unlock()
	if err := gs.store.EnsureEvent(ctx, grantEvent(g.EndEvent(), g, reviewer, channel, gs.now().UTC())); err != nil {
		return approvals.Grant{}, approvals.Unavailable("record that grant "+id+" is revoked", err)
	}
	err = gs.finish(ctx, id, func(ctx context.Context) error {
		if err := gs.store.DeleteGrant(ctx, id); err != nil {
			return approvals.Unavailable("revoke grant "+id, err)
		}
		gs.remove(id)
		return nil
	})
	if err != nil {
		return approvals.Grant{}, err
	}
	return g, nil
}

// grantEvent returns the event of a grant. A grant has one event of each type: the id does
// not depend on the replica.
func grantEvent(typ approvals.EventType, g approvals.Grant, by, channel string, at time.Time) approvals.Event {
	return approvals.Event{
		ID: approvals.DerivedID(g.CreatedAt, g.ID+"/"+string(typ)), Type: typ, Time: at, Tenant: g.Principal.Tenant, Principal: g.Principal,
		RequestID: g.RequestID, SessionID: g.SessionID, ReviewerID: by, Channel: channel, Note: g.Note,
		Rule: "grant " + g.ID, Grant: &g,
	}
}

// Propose returns the grant of a decision on a request, without its id and time.
func (gs *Grants) Propose(r *approvals.Request, d approvals.Decision) (approvals.Grant, error) {
	if err := r.CheckPossible(&d); err != nil {
		return approvals.Grant{}, err
	}
	if d.Window != "" {
		if err := openWindow(&d); err != nil {
			return approvals.Grant{}, err
		}
	} else if err := d.FillGrant(r, gs.now()); err != nil {
		return approvals.Grant{}, err
	}
	g, err := gs.complete(r.GrantFor(&d), r)
	if invalid := (*approvals.InvalidError)(nil); errors.As(err, &invalid) && invalid.Field == "expires_at" {
		invalid.Field = "grant_expires_at" // its name in a decision
	}
	if err != nil {
		return approvals.Grant{}, err
	}
	return g, gs.rights.check(&g, d)
}
