package heldturns

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// keepLease renews the lease of this process until the context ends, and removes it then.
func (k *Keeper) keepLease(ctx context.Context) error {
	ticker := time.NewTicker(leaseRenewal)
	defer ticker.Stop()
	for {
		if err := k.leases.Renew(ctx, k.owner, k.index.unrecorded(k.now().Add(-2*leaseRenewal))); err == nil {
			k.processes.renewedOwn()
		} else if ctx.Err() == nil {
			k.log.Warn("failed to renew the lease of this process; its held turns may go to other replicas", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseRenewal)
			defer cancel()
			if err := k.leases.Remove(ctx, k.owner); err != nil {
				k.log.Warn("failed to remove the lease of this process", "error", err)
			}
			return nil
		}
	}
}

// maxUnrecorded bounds the turns in a lease: NATS takes messages of 1 MiB.
const maxUnrecorded = 10_000

// unrecorded returns turns of this process whose agents may have left without a record of it
// since a time: people are not asked yet, or the record cannot be written.
func (x *index) unrecorded(since time.Time) (ids []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for id, t := range x.turns {
		recorded := x.states[id]
		owned := !t.ended && t.owner(recorded) == x.processes.self && (recorded.revision == 0 || recorded.State.State == approvals.AgentAttached)
		opening := t.opening && t.at.Before(since)
		left := t.local == nil && !t.left.IsZero() && t.left.Before(since)
		if owned && (opening || left || t.local.hasLeft()) && len(ids) < maxUnrecorded {
			ids = append(ids, id)
		}
	}
	return ids
}
