package grants

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// usesEvery is how long uses of grants are gathered before they are written.
	// What a process that is killed had gathered is not counted.
	usesEvery = 5 * time.Second
	// keepExpired is how long a grant is kept and listed after its end.
	keepExpired = 24 * time.Hour
	// keepRemoved is how long the id of a revoked grant is kept: far longer than any
	// write of the grant takes.
	keepRemoved = time.Hour
)

// use is how often a grant was used since that was last written.
type use struct {
	times uint64
	last  time.Time
}

// addTo adds the uses to a grant.
func (u use) addTo(g *approvals.Grant) {
	if u.times == 0 {
		return
	}
	g.Uses += u.times
	if g.LastUsedAt == nil || u.last.After(*g.LastUsedAt) {
		last := u.last
		g.LastUsedAt = &last
	}
}

// Used counts that each of the grants has decided a call. It does not block: uses are
// written together some seconds later, and when [Grants.Run] ends.
func (gs *Grants) Used(ids ...string) {
	if len(ids) == 0 {
		return
	}
	now := gs.now().UTC()
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for _, id := range ids {
		if _, known := gs.byID[id]; known {
			gs.used[id] = use{gs.used[id].times + 1, now}
		}
	}
}

// runUses writes uses at intervals, and removes grants that ended long ago.
func (gs *Grants) runUses(ctx context.Context) error {
	tick := time.NewTicker(usesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
			defer cancel()
			gs.writeUses(last)
			return nil
		case <-tick.C:
			gs.writeUses(ctx)
			gs.sweep(ctx)
		}
	}
}

// writeUses adds the uses to the records. What the store refuses is written the next
// time.
func (gs *Grants) writeUses(ctx context.Context) {
	gs.mu.Lock()
	waiting := make(map[string]use, len(gs.used))
	for id, u := range gs.used {
		waiting[id] = u
	}
	gs.mu.Unlock()
	for id, u := range waiting {
		if err := gs.writeUse(ctx, id, u); err != nil {
			gs.log.Warn("uses of a grant could not be written yet", "grant", id, "uses", u.times, "error", err)
			return
		}
	}
}

// writeUse adds uses to a record. Other replicas add to it too.
func (gs *Grants) writeUse(ctx context.Context, id string, u use) error {
	for attempt := 0; ; attempt++ {
		g, revision, err := gs.store.GetGrant(ctx, id)
		if errors.Is(err, approvals.ErrUnknownGrant) {
			gs.remove(id)
			return nil
		}
		if err != nil {
			return err
		}
		u.addTo(&g)
		revision, err = gs.store.PutGrant(ctx, g, revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		gs.applyUse(g, revision, u)
		return nil
	}
}

// applyUse takes over a record to which uses were added.
func (gs *Grants) applyUse(g approvals.Grant, revision uint64, u use) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	gs.applyLocked(g, revision)
	if since := gs.used[g.ID]; since.times > u.times {
		gs.used[g.ID] = use{since.times - u.times, since.last}
	} else {
		delete(gs.used, g.ID)
	}
}

// sweep removes the grants that ended long ago, and the ids of grants that were removed
// long ago. All replicas may do so at once.
func (gs *Grants) sweep(ctx context.Context) {
	now := gs.now()
	before := now.Add(-keepExpired)
	gs.mu.Lock()
	maps.DeleteFunc(gs.removed, func(_ string, at time.Time) bool { return now.Sub(at) > keepRemoved })
	var over []string
	for id, g := range gs.byID {
		if g.Expired(before) {
			over = append(over, id)
		}
	}
	gs.mu.Unlock()
	for _, id := range over {
		if err := gs.store.DeleteGrant(ctx, id); err != nil {
			gs.log.Warn("a grant that has ended could not be removed yet", "grant", id, "error", err)
			return
		}
	}
}
