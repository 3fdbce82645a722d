package grants

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const (
	// usesEvery is the time between two writes of uses. Uses that were not written when
	// the process is killed are lost.
	usesEvery = 5 * time.Second
	// keepExpired is the time for which a grant is kept and listed after its end.
	keepExpired = 24 * time.Hour
	// keepRemoved is the time for which the id of a deleted grant is kept: longer than
	// any write of the grant takes.
	keepRemoved = time.Hour
)

// use counts the uses of a grant that are not written yet.
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

// Used counts one use of each grant. It does not block: uses are written some seconds later
// and when [Grants.Run] ends.
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

// runUses writes uses at intervals, and deletes grants that ended long ago.
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
			gs.finishAll(ctx)
			gs.writeUses(ctx)
			gs.sweep(ctx)
		}
	}
}

// writeUses adds the uses to the records. After an error the rest is written the next time.
func (gs *Grants) writeUses(ctx context.Context) {
	gs.mu.Lock()
	unwritten := maps.Clone(gs.used)
	gs.mu.Unlock()
	for id, u := range unwritten {
		if err := gs.writeUse(ctx, id, u); err != nil {
			gs.log.Warn("failed to write the uses of a grant; trying again", "grant", id, "uses", u.times, "error", err)
			return
		}
	}
}

// writeUse adds uses to a record by compare-and-set: other replicas add to it too.
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

// applyUse stores a record with written uses in memory.
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

// sweep records the end of trust windows, deletes the grants that ended long ago, and removes the ids of grants that were
// deleted long ago. Replicas may do this at the same time.
func (gs *Grants) sweep(ctx context.Context) {
	now := gs.now()
	before := now.Add(-keepExpired)
	gs.mu.Lock()
	maps.DeleteFunc(gs.removed, func(_ string, at time.Time) bool { return now.Sub(at) > keepRemoved })
	var over []string
	var windows []approvals.Grant
	for id, g := range gs.byID {
		switch {
		case g.Window && g.Expired(now):
			windows = append(windows, gs.viewLocked(g))
		case g.Expired(before):
			over = append(over, id)
		}
	}
	gs.mu.Unlock()
	for _, g := range windows {
		if err := gs.closeWindow(ctx, g); err != nil {
			gs.log.Warn("failed to record the end of a trust window; trying again", "grant", g.ID, "error", err)
			return
		}
	}
	for _, id := range over {
		if err := gs.store.DeleteGrant(ctx, id); err != nil {
			gs.log.Warn("failed to delete an expired grant; trying again", "grant", id, "error", err)
			return
		}
	}
}

// closeWindow records the end of a trust window and deletes it. Replicas may do this at the same time.
func (gs *Grants) closeWindow(ctx context.Context, g approvals.Grant) error {
	if err := gs.store.EnsureEvent(ctx, grantEvent(g.EndEvent(), g, approvals.ReviewerTimeout, "", *g.ExpiresAt)); err != nil {
		return fmt.Errorf("record the event: %w", err)
	}
	if err := gs.store.DeleteGrant(ctx, g.ID); err != nil {
		return fmt.Errorf("delete it: %w", err)
	}
	gs.remove(g.ID)
	return nil
}
