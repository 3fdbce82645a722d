package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
)

// PutDelegation writes a delegation that stands at a revision (0: is not there).
func (s *Store) PutDelegation(ctx context.Context, d approvals.Delegation, revision uint64) error {
	value, err := encode(d)
	if err != nil {
		return fmt.Errorf("encode delegation %s: %w", d.ID, err)
	}
	_, err = s.compareAndSet(ctx, s.delegations, Token(d.ID), value, revision)
	return err
}

// GetDelegation reads a delegation.
func (s *Store) GetDelegation(ctx context.Context, id string) (approvals.Delegation, uint64, error) {
	entry, err := s.get(ctx, s.delegations, Token(id), approvals.ErrUnknownDelegation)
	if err != nil {
		return approvals.Delegation{}, 0, err
	}
	d, err := decodeDelegation(entry)
	return d, entry.Revision(), err
}

// WatchDelegations tells of every delegation and every change of one.
func (s *Store) WatchDelegations(ctx context.Context, changed func(approvals.Delegation), loaded func()) error {
	return s.watch(ctx, watched{
		bucket: s.delegations,
		loaded: loaded,
		entry: func(entry jetstream.KeyValueEntry) {
			if entry.Operation() != jetstream.KeyValuePut {
				return
			}
			d, err := decodeDelegation(entry)
			if err != nil {
				s.log.Error("a record of a delegation cannot be read", "key", entry.Key(), "error", err)
				return
			}
			changed(d)
		},
	})
}

func decodeDelegation(entry jetstream.KeyValueEntry) (approvals.Delegation, error) {
	var d approvals.Delegation
	if err := json.Unmarshal(entry.Value(), &d); err != nil {
		return d, fmt.Errorf("read delegation %s: %w: %w", entry.Key(), approvals.ErrStoreUnavailable, err)
	}
	return d, nil
}
