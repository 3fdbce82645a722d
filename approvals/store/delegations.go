package store

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
)

// Delegations are the records of delegations.
type Delegations struct {
	records records[approvals.Delegation]
}

func newDelegations(b bucket) *Delegations {
	return &Delegations{records[approvals.Delegation]{bucket: b, kind: "delegation", unknown: approvals.ErrUnknownDelegation, id: func(d *approvals.Delegation) string { return d.ID }}}
}

// PutDelegation writes a delegation whose record is at a revision (0: does not
// exist), else it fails with [approvals.ErrConflict].
func (s *Delegations) PutDelegation(ctx context.Context, d approvals.Delegation, revision uint64) error {
	_, err := s.records.put(ctx, d, revision, s.records.backend.maxRecord())
	return err
}

// GetDelegation reads a delegation, or fails with [approvals.ErrUnknownDelegation].
func (s *Delegations) GetDelegation(ctx context.Context, id string) (approvals.Delegation, uint64, error) {
	stored, err := s.records.get(ctx, id)
	return stored.value, stored.revision, err
}

// WatchDelegations calls changed with every delegation and every change of one.
func (s *Delegations) WatchDelegations(ctx context.Context, changed func(approvals.Delegation), loaded func()) error {
	return s.records.watch(ctx, func(d record[approvals.Delegation]) { changed(d.value) }, ignoreDeleted, loaded)
}
