package gate

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// recorder appends events to the audit log.
type recorder struct {
	store approvals.EventStore
	now   func() time.Time
	ids   *approvals.IDSource
}

// record sets empty ids and times, and returns when the events are durable.
func (r *recorder) record(ctx context.Context, events ...approvals.Event) error {
	now := r.now().UTC()
	for i := range events {
		if events[i].Time.IsZero() {
			events[i].Time = now
		}
		if events[i].ID == "" {
			events[i].ID = r.ids.Next(events[i].Time)
		}
	}
	return r.store.AppendEvents(ctx, events...)
}

// recordChange records the event of a durable change, even if the caller has gone.
func (r *recorder) recordChange(ctx context.Context, e approvals.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	return r.record(ctx, e)
}

// ensure appends events of which some may be in the audit log.
func (r *recorder) ensure(ctx context.Context, events ...approvals.Event) error {
	for _, e := range events {
		if e.Time.IsZero() {
			e.Time = r.now().UTC()
		}
		if err := r.store.EnsureEvent(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
