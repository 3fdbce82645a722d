package notify

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// sweeper queues the pending requests that may be announced: at the start, as the channel
// may be new or the process may have died, whenever routes end a time of silence, when
// other routes are in force, and when the setup of the channel was corrected.
type sweeper struct {
	channel  *channel
	store    Store
	requests Requests
	routes   *atomic.Pointer[Routes]
	queue    *queue
	rerouted chan struct{} // other routes are in force

	swept time.Time // the last tick that this replica swept, or sweeps
}

// run sweeps until the context ends. It begins when the channel is followed: requests
// before that are listed, those after it come as events.
func (s *sweeper) run(ctx context.Context, followed <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-followed:
	}
	var tick time.Time
	s.channel.repeat(ctx, "pending requests cannot be listed", func(ctx context.Context) error {
		for { // an error comes back to the same tick
			if err := s.sweep(ctx, tick); err != nil {
				return err
			}
			from := time.Now()
			if tick.After(from) {
				from = tick
			}
			next := s.routes.Load().tick(from)
			var silenceEnds <-chan time.Time
			if !next.IsZero() {
				silenceEnds = time.After(time.Until(next))
			}
			select {
			case <-ctx.Done():
				return nil
			case <-silenceEnds:
				tick = next
			case <-s.channel.faults.corrected:
			case <-s.rerouted:
			}
		}
	})
}

// reroute has the pending requests announced where other routes lead.
func (s *sweeper) reroute() {
	select {
	case s.rerouted <- struct{}{}:
	default: // it has still to look
	}
}

// tickKey is the key of the last tick that was swept by any replica.
const tickKey = "tick"

// sweep queues the pending requests at a tick, unless another replica does: each request
// would be announced once all the same, but not together with the others.
func (s *sweeper) sweep(ctx context.Context, tick time.Time) error {
	if !tick.Equal(s.swept) {
		first, err := s.first(ctx, tick)
		if err != nil || !first {
			return err
		}
		s.swept = tick // an error from here on comes back here
	}
	return s.queuePending(ctx, tick)
}

// first records a tick and reports whether this replica was the first to do so.
func (s *sweeper) first(ctx context.Context, tick time.Time) (bool, error) {
	name := s.channel.setup.Name
	value, revision, err := s.store.State(ctx, name, tickKey)
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
	_, err = s.store.PutState(ctx, name, tickKey, value, revision)
	switch {
	case errors.Is(err, approvals.ErrConflict):
		return false, nil
	case err != nil: // it may be recorded, so that no other replica sweeps
		s.swept = tick
	}
	return err == nil, err
}

func (s *sweeper) queuePending(ctx context.Context, tick time.Time) error {
	if s.channel.idle() {
		return nil
	}
	filter := approvals.Filter{Status: approvals.StatusPending, Limit: 500}
	for {
		page, err := s.requests.Requests(ctx, filter)
		if err != nil {
			return err
		}
		for i := range page.Items {
			r := &page.Items[i]
			s.queue.add(s.channel.cardKey(r.ID, r.TurnID), s.channel.trim(r.RequiredEvent()), nil, tick)
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return nil
		}
	}
}
