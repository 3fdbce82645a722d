package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
)

// PutRun writes a run that stands at a revision (0: is not there).
func (s *Store) PutRun(ctx context.Context, r approvals.Run, revision uint64) error {
	value, err := encode(r)
	if err != nil {
		return fmt.Errorf("encode run %s: %w", r.ID, err)
	}
	_, err = s.compareAndSet(ctx, s.runs, Token(r.ID), value, revision)
	return err
}

// GetRun reads a run.
func (s *Store) GetRun(ctx context.Context, id string) (approvals.Run, uint64, error) {
	entry, err := s.get(ctx, s.runs, Token(id), approvals.ErrUnknownRun)
	if err != nil {
		return approvals.Run{}, 0, err
	}
	run, err := decodeRun(entry)
	return run, entry.Revision(), err
}

// WatchRuns tells of every run and every change of one.
func (s *Store) WatchRuns(ctx context.Context, changed func(approvals.Run), loaded func()) error {
	return s.watch(ctx, watched{
		bucket: s.runs,
		loaded: loaded,
		entry: func(entry jetstream.KeyValueEntry) {
			if entry.Operation() != jetstream.KeyValuePut {
				return
			}
			run, err := decodeRun(entry)
			if err != nil {
				s.log.Error("a record of a run cannot be read", "key", entry.Key(), "error", err)
				return
			}
			changed(run)
		},
	})
}

func decodeRun(entry jetstream.KeyValueEntry) (approvals.Run, error) {
	var run approvals.Run
	if err := json.Unmarshal(entry.Value(), &run); err != nil {
		return run, fmt.Errorf("read run %s: %w: %w", entry.Key(), approvals.ErrStoreUnavailable, err)
	}
	return run, nil
}
