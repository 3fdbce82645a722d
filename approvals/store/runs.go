package store

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
)

// Runs are the records of runs.
type Runs struct{ records records[approvals.Run] }

func newRuns(b bucket) *Runs {
	return &Runs{records[approvals.Run]{bucket: b, kind: "run", unknown: approvals.ErrUnknownRun, id: func(r *approvals.Run) string { return r.ID }}}
}

// PutRun writes a run whose record is at a revision (0: does not exist), else it
// fails with [approvals.ErrConflict].
func (s *Runs) PutRun(ctx context.Context, r approvals.Run, revision uint64) error {
	_, err := s.records.put(ctx, r, revision, s.records.backend.maxRecord())
	return err
}

// GetRun reads a run, or fails with [approvals.ErrUnknownRun].
func (s *Runs) GetRun(ctx context.Context, id string) (approvals.Run, uint64, error) {
	stored, err := s.records.get(ctx, id)
	return stored.value, stored.revision, err
}

// WatchRuns calls changed with every run and every change of one.
func (s *Runs) WatchRuns(ctx context.Context, changed func(approvals.Run), loaded func()) error {
	return s.records.watch(ctx, func(r record[approvals.Run]) { changed(r.value) }, ignoreDeleted, loaded)
}

// ignoreDeleted is for records that are only deleted by age.
func ignoreDeleted(string) {}
