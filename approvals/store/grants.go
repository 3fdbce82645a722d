package store

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// Grants are the records of grants.
type Grants struct {
	records Records[approvals.Grant]
}

func newGrants(b natskv.Bucket) *Grants {
	return &Grants{Records[approvals.Grant]{bucket: b, kind: "grant", unknown: approvals.ErrUnknownGrant, id: func(g *approvals.Grant) string { return g.ID }}}
}

// PutGrant writes a grant whose record is at a revision (0: never existed), else it
// fails with [approvals.ErrConflict].
func (s *Grants) PutGrant(ctx context.Context, g approvals.Grant, revision uint64) (uint64, error) {
	return s.records.put(ctx, g, revision, s.records.bucket.Backend.MaxRecord()/2) // its event contains it too
}

// GetGrant reads a grant, or fails with [approvals.ErrUnknownGrant].
func (s *Grants) GetGrant(ctx context.Context, id string) (approvals.Grant, uint64, error) {
	stored, err := s.records.get(ctx, id)
	return stored.value, stored.revision, err
}

// DeleteGrant deletes a grant and leaves a marker, so that the same grant is never written
// again.
func (s *Grants) DeleteGrant(ctx context.Context, id string) error {
	return s.records.bucket.Backend.Write(ctx, natskv.OpWrite, "delete grant "+id, func(ctx context.Context) error {
		return s.records.bucket.KV.Delete(ctx, subjects.Token(id))
	})
}

// WatchGrants calls changed with every grant and every change of one, and gone with
// the ids of those that are deleted.
func (s *Grants) WatchGrants(ctx context.Context, changed func(approvals.Grant, uint64), gone func(string), loaded func()) error {
	return s.records.watch(ctx, 0, func(g record[approvals.Grant]) { changed(g.value, g.revision) }, gone, natskv.Loaded(loaded))
}
