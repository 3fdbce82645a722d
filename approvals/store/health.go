package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
)

// Healthy writes a record and reads it back. Its error wraps
// [approvals.ErrStoreUnavailable].
func (s *Store) Healthy(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := s.disk.check(); err != nil {
		return s.fail(opProbe, "write a probe", err)
	}
	value := []byte(rand.Text())
	revision, err := s.turns.Put(ctx, probeKey, value)
	if err != nil {
		return s.fail(opProbe, "write a probe", err)
	}
	entry, err := s.turns.Get(ctx, probeKey)
	if err != nil {
		return s.fail(opProbe, "read a probe", err)
	}
	// Another replica's probe may have come in between; an older one may not.
	if entry.Revision() < revision || entry.Revision() == revision && !bytes.Equal(entry.Value(), value) {
		return s.fail(opProbe, "read a probe", errors.New("it is not what was written"))
	}
	return nil
}
