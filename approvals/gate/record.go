package gate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// recorder appends events to the audit log.
type recorder struct {
	store  approvals.EventStore
	now    func() time.Time
	ids    *approvals.IDSource
	timers *scheduler
}

// record sets empty ids and times, and returns when the events are durable.
func (r *recorder) record(ctx context.Context, events ...approvals.Event) error {
	now := r.now().UTC()
	for i := 0; i < len(events); {
		if events[i].ID != "" && !events[i].Time.IsZero() {
			if err := r.store.EnsureEvent(ctx, events[i]); err != nil {
				return err
			}
			events = slices.Delete(slices.Clone(events), i, i+1)
			continue
		}
		if events[i].Time.IsZero() {
			events[i].Time = now
		}
		if events[i].ID == "" {
			events[i].ID = r.ids.Next(events[i].Time)
		}
		i++
	}
	if len(events) == 0 {
		return nil
	}
	return r.store.AppendEvents(ctx, events...)
}

// recordChange records the event of a durable change, even if the caller has gone. An event that cannot be
// written now is written later.
func (r *recorder) recordChange(ctx context.Context, e approvals.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	change := []approvals.Event{e}
	err := r.record(ctx, change...) // sets the id and the time
	if err != nil && !errors.Is(err, approvals.ErrTooLarge) {
		r.timers.retry(timer{kind: timerWork, id: e.RunID, work: func(ctx context.Context) error { return r.store.EnsureEvent(ctx, change[0]) }})
	}
	return err
}
