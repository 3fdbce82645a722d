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
		s.Requests.index.removeBefore(time.Now().Add(-retention))
		s.Turns.index.removeBefore(time.Now().Add(-TurnTTL))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
