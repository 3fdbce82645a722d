package store

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/natskv"
)

// keepRetention removes records that the buckets have deleted by age from the indexes. An
// [audit.Keeper] removes old events.
func (s *Store) keepRetention(ctx context.Context, requests jetstream.Stream, retention time.Duration) {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		if err := s.expireRequests(ctx, requests, time.Now().Add(-retention)); err != nil && ctx.Err() == nil {
			s.backend.Log.Warn("failed to remove old requests from their index; trying again", "error", err)
		}
		s.Turns.index.removeBefore(time.Now().Add(-TurnTTL))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// expireRequests removes the requests from their index that the bucket has deleted by age.
func (s *Store) expireRequests(ctx context.Context, requests jetstream.Stream, before time.Time) error {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	info, err := natskv.Await(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) { return requests.Info(ctx) })
	if err != nil {
		return err
	}
	return s.Requests.index.Expire(before, info.State.FirstSeq)
}
