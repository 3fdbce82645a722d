package store

import (
	"context"
	"time"
)

// keepRetention deletes events that are older than the retention, and removes records that
// the buckets have deleted by age from the indexes.
func (s *Store) keepRetention(ctx context.Context, retention time.Duration) {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		s.Requests.index.removeBefore(time.Now().Add(-retention))
		s.Turns.index.removeBefore(time.Now().Add(-TurnTTL))
		if err := s.Events.dropBefore(ctx, time.Now().Add(-retention)); err != nil && ctx.Err() == nil {
			s.backend.log.Warn("failed to delete old audit entries; trying again in an hour", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
