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
	// keepExpired is how long a grant that has ended is still kept and listed.
	keepExpired = 24 * time.Hour
	// keepGone is how long it is known of a grant that it was revoked: far longer
	// than any write of it takes.
	keepGone = time.Hour
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

// Used counts that each of the grants has decided a call. It does not wait: uses
// are written together some seconds later, and when the book stops.
func (b *Grants) Used(ids ...string) {
	if len(ids) == 0 {
		return
	}
	now := b.now().UTC()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if _, known := b.byID[id]; known {
			b.used[id] = use{b.used[id].times + 1, now}
		}
	}
}

// keepUses writes uses now and then, and removes what has ended long ago.
func (b *Grants) keepUses(ctx context.Context) error {
	tick := time.NewTicker(usesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
			defer cancel()
			b.writeUses(last)
			return nil
		case <-tick.C:
			b.writeUses(ctx)
			b.sweep(ctx)
		}
	}
}

// writeUses adds what was used to the records. What the store refuses waits for
// the next time.
func (b *Grants) writeUses(ctx context.Context) {
	b.mu.Lock()
	waiting := make(map[string]use, len(b.used))
	for id, u := range b.used {
		waiting[id] = u
	}
	b.mu.Unlock()
	for id, u := range waiting {
		if err := b.writeUse(ctx, id, u); err != nil {
			b.log.Warn("uses of a grant could not be written yet", "grant", id, "uses", u.times, "error", err)
			return
		}
	}
}

// writeUse adds to what the record says, which other replicas add to as well.
func (b *Grants) writeUse(ctx context.Context, id string, u use) error {
	for attempt := 0; ; attempt++ {
		g, revision, err := b.store.GetGrant(ctx, id)
		if errors.Is(err, approvals.ErrUnknownGrant) {
			b.drop(id)
			return nil
		}
		if err != nil {
			return err
		}
		u.addTo(&g)
		revision, err = b.store.PutGrant(ctx, g, revision)
		if errors.Is(err, approvals.ErrConflict) {
			if err := approvals.Pause(ctx, attempt); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		b.written(g, revision, u)
		return nil
	}
}

// written takes over a record that uses were added to.
func (b *Grants) written(g approvals.Grant, revision uint64, u use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepLocked(g, revision)
	if since := b.used[g.ID]; since.times > u.times {
		b.used[g.ID] = use{since.times - u.times, since.last}
	} else {
		delete(b.used, g.ID)
	}
}

// sweep removes the grants that ended long ago, and forgets of those removed before
// that they were. All replicas may do so at once.
func (b *Grants) sweep(ctx context.Context) {
	now := b.now()
	before := now.Add(-keepExpired)
	b.mu.Lock()
	maps.DeleteFunc(b.gone, func(_ string, at time.Time) bool { return now.Sub(at) > keepGone })
	var over []string
	for id, g := range b.byID {
		if g.Expired(before) {
			over = append(over, id)
		}
	}
	b.mu.Unlock()
	for _, id := range over {
		if err := b.store.DeleteGrant(ctx, id); err != nil {
			b.log.Warn("a grant that has ended could not be removed yet", "grant", id, "error", err)
			return
		}
	}
}
