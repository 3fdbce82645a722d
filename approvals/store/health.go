package store

import "context"

// Healthy writes a record and reads it back. Its error wraps
// [approvals.ErrStoreUnavailable].
func (s *Store) Healthy(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := s.backend.disk.check(); err != nil {
		return s.backend.fail(opProbe, "write a probe", err)
	}
	return s.Turns.probe(ctx)
}
