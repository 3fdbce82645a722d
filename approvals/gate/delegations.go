package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// maxDelegation is the longest delegation. The store keeps the record of one as long.
const maxDelegation = 365 * 24 * time.Hour

// delegations are the reviewers who may decide in the place of others.
type delegations struct {
	store    approvals.Records[approvals.Delegation]
	recorder *recorder
	now      func() time.Time
	ids      *approvals.IDSource
	// profile returns the groups and the user of a reviewer: see [Options].
	profile func(reviewer string) (approvals.ReviewerProfile, bool)

	// maskWritten replaces secrets by their handles: see [Options].
	maskWritten func(ctx context.Context, fields ...any) error

	mu   sync.Mutex
	byID map[string]approvals.Delegation
}

// add is [Gate.Delegate].
func (g *delegations) add(ctx context.Context, d approvals.Delegation) (approvals.Delegation, error) {
	now := g.now().UTC()
	if err := g.check(&d, now); err != nil {
		return approvals.Delegation{}, err
	}
	if err := g.maskWritten(ctx, &d.Note); err != nil {
		return approvals.Delegation{}, err
	}
	d.ID, d.CreatedAt, d.Until = g.ids.Next(now), now, d.Until.UTC()
	d.RevokedBy, d.RevokedAt, d.CreatorUser = "", nil, ""
	if err := g.store.Put(ctx, d, 0); err != nil {
		return approvals.Delegation{}, approvals.Unavailable("record a delegation", err)
	}
	g.apply(d)
	return d, g.record(ctx, approvals.EventDelegationCreated, &d, d.CreatedBy,
		fmt.Sprintf("%s may decide for %s until %s", d.To, d.From, d.Until.Format(time.RFC3339)))
}

func (g *delegations) check(d *approvals.Delegation, now time.Time) error {
	for _, name := range []struct{ field, value string }{{"from", d.From}, {"to", d.To}} {
		if _, known := g.profile(name.value); !known {
			return approvals.Invalid(name.field, "%q is no reviewer", name.value)
		}
	}
	switch {
	case d.From == d.To:
		return approvals.Invalid("to", "is the same reviewer as from; name another")
	case !d.Until.After(now):
		return approvals.Invalid("until", "has passed; give a later time")
	case d.Until.Sub(now) > maxDelegation:
		return approvals.Invalid("until", "is more than a year away; give an earlier time")
	case g.isCreator(d, d.To) && !g.isCreator(d, d.From):
		return approvals.Forbidden(d.CreatedBy, "%s delegates to them, or another admin does", d.From)
	}
	return nil
}

// isCreator reports whether a reviewer is the person who creates the delegation.
func (g *delegations) isCreator(d *approvals.Delegation, name string) bool {
	who, _ := g.profile(name)
	creator, _ := g.profile(d.CreatedBy)
	return approvals.SamePerson(name, d.CreatedBy) || approvals.SamePerson(who.User, creator.User) || approvals.SamePerson(who.User, d.CreatorUser)
}

// revoke is [Gate.RevokeDelegation].
func (g *delegations) revoke(ctx context.Context, id, by string) (approvals.Delegation, error) {
	d, revision, err := g.store.Get(ctx, id)
	now := g.now().UTC()
	if err != nil || !d.InForce(now) {
		return d, err
	}
	d.RevokedBy, d.RevokedAt = by, &now
	err = g.store.Put(ctx, d, revision)
	if errors.Is(err, approvals.ErrConflict) { // revoked by another just now
		return g.revoke(ctx, id, by)
	}
	if err != nil {
		return approvals.Delegation{}, approvals.Unavailable("revoke delegation "+id, err)
	}
	g.apply(d)
	return d, g.record(ctx, approvals.EventDelegationRevoked, &d, by, fmt.Sprintf("%s no longer decides for %s", d.To, d.From))
}

func (g *delegations) record(ctx context.Context, typ approvals.EventType, d *approvals.Delegation, by, note string) error {
	if d.Note != "" {
		note += ": " + d.Note
	}
	return g.recorder.recordChange(ctx, approvals.Event{Type: typ, ReviewerID: by, OnBehalfOf: d.From, Note: note, Delegation: d})
}

// apply stores the state of a delegation in memory, and removes those that have ended. A
// revoked one is kept until its end: an older state of it may arrive later.
func (g *delegations) apply(d approvals.Delegation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known, ok := g.byID[d.ID]; ok && known.RevokedAt != nil {
		return
	}
	g.byID[d.ID] = d
	now := g.now()
	maps.DeleteFunc(g.byID, func(_ string, d approvals.Delegation) bool { return !now.Before(d.Until) })
}

// list returns the delegations in force, the latest first.
func (g *delegations) list() []approvals.Delegation {
	now := g.now()
	found := []approvals.Delegation{}
	g.mu.Lock()
	for _, d := range g.byID {
		if d.InForce(now) {
			found = append(found, d)
		}
	}
	g.mu.Unlock()
	slices.SortFunc(found, func(a, b approvals.Delegation) int { return cmp.Compare(b.ID, a.ID) })
	return found
}

// delegators returns the reviewers in whose place a reviewer may decide now.
func (g *delegations) delegators(of string) []string {
	var names []string
	for _, d := range g.list() {
		if d.To == of && !slices.Contains(names, d.From) {
			names = append(names, d.From)
		}
	}
	return names
}

// Delegate records a delegation and returns it with its id. The channel that authenticated
// the reviewer must have set CreatedBy. It fails with [*approvals.InvalidError] for a
// delegation that could never be in force, [*approvals.ForbiddenError] if reviewers would
// take the place of others by themselves, or [approvals.ErrStoreUnavailable].
func (g *Gate) Delegate(ctx context.Context, d approvals.Delegation) (approvals.Delegation, error) {
	return g.delegations.add(ctx, d)
}

// RevokeDelegation ends a delegation before its time. It does not change one that has
// ended. It fails with [approvals.ErrUnknownDelegation] or [approvals.ErrStoreUnavailable].
func (g *Gate) RevokeDelegation(ctx context.Context, id, by string) (approvals.Delegation, error) {
	return g.delegations.revoke(ctx, id, by)
}

// Delegation returns a delegation, in force or not, or [approvals.ErrUnknownDelegation].
func (g *Gate) Delegation(ctx context.Context, id string) (approvals.Delegation, error) {
	d, _, err := g.delegations.store.Get(ctx, id)
	return d, err
}

// Delegations returns those in force, the latest first.
func (g *Gate) Delegations() []approvals.Delegation { return g.delegations.list() }
