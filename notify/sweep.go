package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// sweep queues the requests that wait for people: at the start, since the channel may
// be new or the process may have died, and whenever routes end a time of silence.
//
// It begins when the channel is followed: earlier requests are listed, and later ones
// are delivered as events.
func (r *runner) sweep(ctx context.Context, followed <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-followed:
	}
	var tick time.Time
	r.retry(ctx, "what waits cannot be listed", func(ctx context.Context) error {
		for { // an error comes back to the same tick
			if err := r.sweepAt(ctx, tick); err != nil {
				return err
			}
			from := time.Now()
			if tick.After(from) {
				from = tick
			}
			next := r.routes.tick(from)
			if next.IsZero() {
				<-ctx.Done()
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Until(next)):
				tick = next
			}
		}
	})
}

// tickKey is the key of the last tick that any replica has swept for a channel.
const tickKey = "tick"

// sweepAt queues the requests that wait at a tick, unless another replica does: each
// would be delivered once all the same, but not together with the others.
func (r *runner) sweepAt(ctx context.Context, tick time.Time) error {
	if !tick.Equal(r.swept) {
		first, err := r.first(ctx, tick)
		if err != nil || !first {
			return err
		}
		r.swept = tick // an error from here on comes back here
	}
	return r.queueWaiting(ctx, tick)
}

// first reports whether this replica is the first to come at a tick.
func (r *runner) first(ctx context.Context, tick time.Time) (bool, error) {
	value, revision, err := r.store.State(ctx, r.setup.Name, tickKey)
	if err != nil {
		return false, err
	}
	var last time.Time
	if revision > 0 {
		if err := last.UnmarshalText(value); err != nil {
			return false, fmt.Errorf("read the last tick: %w", err)
		}
	}
	if !last.Before(tick) {
		return false, nil
	}
	if value, err = tick.UTC().MarshalText(); err != nil {
		return false, err
	}
	_, err = r.store.PutState(ctx, r.setup.Name, tickKey, value, revision)
	if errors.Is(err, approvals.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// idle reports whether the channel has no recipients.
func (r *runner) idle() bool {
	chooser, chooses := r.setup.Channel.(Chooser)
	return chooses && !chooser.Anybody()
}

// queueWaiting queues every request that waits for people.
func (r *runner) queueWaiting(ctx context.Context, tick time.Time) error {
	if r.idle() {
		return nil
	}
	filter := approvals.Filter{Status: approvals.StatusPending, Limit: 500}
	for {
		page, err := r.requests.Requests(ctx, filter)
		if err != nil {
			return err
		}
		for i := range page.Items {
			q := &page.Items[i]
			r.queue.add(r.cards.keyOf(q.ID, q.TurnID), r.kept(approvals.RequiredEvent(q)), nil, tick)
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return nil
		}
	}
}
