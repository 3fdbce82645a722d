package store

import (
	"context"
	"time"
)

// keepRetention removes records that the buckets have deleted by age from the indexes. An
// [audit.Keeper] removes old events.
func (s *Store) keepRetention(ctx context.Context, retention time.Duration) {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		if err := s.Requests.index.Expire(time.Now().Add(-retention)); err != nil {
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
