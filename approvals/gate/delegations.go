package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// maxDelegation is the longest that one reviewer may decide for another; the
// store keeps delegations as long.
const maxDelegation = 365 * 24 * time.Hour

// Delegate records that d.To may decide in the place of d.From until d.Until, and
// returns the delegation with its id. CreatedBy must have been set by the channel
// that authenticated the reviewer. It fails with [*InvalidError] where it says
// nothing that could hold, [*ForbiddenError] where somebody would take another's
// place themselves, or [ErrStoreUnavailable].
func (g *Gate) Delegate(ctx context.Context, d approvals.Delegation) (approvals.Delegation, error) {
	now := g.now().UTC()
	if err := g.checkDelegation(&d, now); err != nil {
		return approvals.Delegation{}, err
	}
	d.ID, d.CreatedAt, d.Until = g.ids.Next(now), now, d.Until.UTC()
	d.RevokedBy, d.RevokedAt, d.CreatorUser = "", nil, ""
	if err := g.store.PutDelegation(ctx, d, 0); err != nil {
		return approvals.Delegation{}, approvals.Unavailable("record a delegation", err)
	}
	g.delegationChanged(d)
	return d, g.recordDelegation(ctx, approvals.EventDelegationCreated, &d, d.CreatedBy,
		fmt.Sprintf("%s may decide for %s until %s", d.To, d.From, d.Until.Format(time.RFC3339)))
}

func (g *Gate) checkDelegation(d *approvals.Delegation, now time.Time) error {
	for _, name := range []struct{ field, value string }{{"from", d.From}, {"to", d.To}} {
		if _, known := g.reviewer(name.value); !known {
			return &approvals.InvalidError{Field: name.field, Reason: fmt.Sprintf("%q is no reviewer", name.value)}
		}
	}
	switch {
	case d.From == d.To:
		return &approvals.InvalidError{Field: "to", Reason: "is who delegates; name another reviewer"}
	case !d.Until.After(now):
		return &approvals.InvalidError{Field: "until", Reason: "has passed; give a time to come"}
	case d.Until.Sub(now) > maxDelegation:
		return &approvals.InvalidError{Field: "until", Reason: "is more than a year away; give an earlier time"}
	case g.isCreator(d, d.To) && !g.isCreator(d, d.From):
		return &approvals.ForbiddenError{Reviewer: d.CreatedBy, Reason: fmt.Sprintf("%s delegates to them, or another admin does", d.From)}
	}
	return nil
}

// isCreator reports whether a reviewer is the person who delegates.
func (g *Gate) isCreator(d *approvals.Delegation, name string) bool {
	who, _ := g.reviewer(name)
	return g.isOne(name, d.CreatedBy) || approvals.SamePerson(who.User, d.CreatorUser)
}

// isOne reports whether two reviewers are one person.
func (g *Gate) isOne(a, b string) bool {
	first, _ := g.reviewer(a)
	second, _ := g.reviewer(b)
	return approvals.SamePerson(a, b) || approvals.SamePerson(first.User, second.User)
}

// RevokeDelegation ends a delegation before its time. One that has ended stays
// as it is. It fails with [ErrUnknownDelegation] or [ErrStoreUnavailable].
func (g *Gate) RevokeDelegation(ctx context.Context, id, by string) (approvals.Delegation, error) {
	d, revision, err := g.store.GetDelegation(ctx, id)
	now := g.now().UTC()
	if err != nil || !d.InForce(now) {
		return d, err
	}
	d.RevokedBy, d.RevokedAt = by, &now
	err = g.store.PutDelegation(ctx, d, revision)
	if errors.Is(err, approvals.ErrConflict) { // revoked by another just now
		return g.RevokeDelegation(ctx, id, by)
	}
	if err != nil {
		return approvals.Delegation{}, approvals.Unavailable("revoke delegation "+id, err)
	}
	g.delegationChanged(d)
	return d, g.recordDelegation(ctx, approvals.EventDelegationRevoked, &d, by, fmt.Sprintf("%s no longer decides for %s", d.To, d.From))
}

func (g *Gate) recordDelegation(ctx context.Context, typ approvals.EventType, d *approvals.Delegation, by, note string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	return g.Record(ctx, approvals.Event{Type: typ, ReviewerID: by, OnBehalfOf: d.From, Note: joinNotes(note, d.Note)})
}

func joinNotes(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// delegationChanged takes over a delegation, and forgets those whose time has
// come. A revoked one is kept until then: an older word of it may come later.
func (g *Gate) delegationChanged(d approvals.Delegation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known, ok := g.delegations[d.ID]; ok && known.RevokedAt != nil {
		return
	}
	g.delegations[d.ID] = d
	now := g.now()
	maps.DeleteFunc(g.delegations, func(_ string, d approvals.Delegation) bool { return !now.Before(d.Until) })
}

// Delegation is one delegation, in force or not, or [ErrUnknownDelegation].
func (g *Gate) Delegation(ctx context.Context, id string) (approvals.Delegation, error) {
	d, _, err := g.store.GetDelegation(ctx, id)
	return d, err
}

// Delegations are those in force, the latest first.
func (g *Gate) Delegations() []approvals.Delegation {
	now := g.now()
	found := []approvals.Delegation{}
	g.mu.Lock()
	for _, d := range g.delegations {
		if d.InForce(now) {
			found = append(found, d)
		}
	}
	g.mu.Unlock()
	slices.SortFunc(found, func(a, b approvals.Delegation) int { return cmp.Compare(b.ID, a.ID) })
	return found
}

// principals are the reviewers in whose place another may decide now.
func (g *Gate) principals(of string) []string {
	var names []string
	for _, d := range g.Delegations() {
		if d.To == of && !slices.Contains(names, d.From) {
			names = append(names, d.From)
		}
	}
	return names
}

// reviewer is what a reviewer has of their own; without a directory nobody is
// known.
func (g *Gate) reviewer(name string) (approvals.Standing, bool) {
	if g.standing == nil {
		return approvals.Standing{}, false
	}
	return g.standing(name)
}
