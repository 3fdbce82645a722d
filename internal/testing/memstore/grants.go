package memstore

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
)

// Grants are the records of grants.
type Grants struct{ records *Records[approvals.Grant] }

func newGrants(p *process) *Grants {
	return &Grants{newRecords(p, &p.memory.grants, "grant", approvals.ErrUnknownGrant, func(g *approvals.Grant) string { return g.ID })}
}

// PutGrant writes a grant whose record is at a revision (0: never existed), else it fails with
// [approvals.ErrConflict].
func (s *Grants) PutGrant(ctx context.Context, g approvals.Grant, revision uint64) (uint64, error) {
	return s.records.put(ctx, g, revision, maxRecord/2) // its event contains it too
}

// GetGrant reads a grant, or fails with [approvals.ErrUnknownGrant].
func (s *Grants) GetGrant(ctx context.Context, id string) (approvals.Grant, uint64, error) {
	return s.records.Get(ctx, id)
}

// DeleteGrant deletes a grant and leaves a marker, so that the same grant is never written again.
func (s *Grants) DeleteGrant(ctx context.Context, id string) error {
	return s.records.process.do(ctx, "delete grant "+id, func() error {
		s.records.table.set(row{key: id, mark: removed})
		return nil
	})
}

// WatchGrants calls changed with every grant and every change of one, and gone with the ids of those
// that are deleted.
func (s *Grants) WatchGrants(ctx context.Context, changed func(approvals.Grant, uint64), gone func(string), whenLoaded func()) error {
	return s.records.process.watch(ctx, s.records.table, watched{current: loaded(whenLoaded), change: func(at row) {
		if at.live() {
			changed(s.records.decode(at), at.revision)
		} else {
			gone(at.key)
		}
	}})
}
