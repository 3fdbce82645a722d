package store

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// keepRetention drops events that are older than the retention, except the very
// last: the chain goes on from it.
func (s *Store) keepRetention(ctx context.Context) {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		s.index.removeBefore(time.Now().Add(-s.opts.Retention))
		s.turnIndex.removeBefore(time.Now().Add(-TurnTTL))
		if err := s.dropOldEvents(ctx, time.Now().Add(-s.opts.Retention)); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot drop old audit entries; trying again in an hour", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// dropOldEvents drops the events written before a time.
func (s *Store) dropOldEvents(ctx context.Context, before time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	info, err := s.events.Info(ctx)
	if err != nil {
		return s.fail(opRead, "read the age of the audit log", err)
	}
	if info.State.Msgs < 2 || !info.State.FirstTime.Before(before) {
		return nil
	}
	first, last := info.State.FirstSeq, info.State.LastSeq
	for first < last { // the first entry to keep: entries are in order of time
		middle := first + (last-first)/2
		msg, err := s.events.GetMsg(ctx, middle)
		if err != nil {
			return s.fail(opRead, "read the age of the audit log", err)
		}
		if msg.Time.Before(before) {
			first = middle + 1
		} else {
			last = middle
		}
	}
	if err := s.events.Purge(ctx, jetstream.WithPurgeSequence(first)); err != nil {
		return s.fail(opWrite, "drop old audit entries", err)
	}
	return nil
}
