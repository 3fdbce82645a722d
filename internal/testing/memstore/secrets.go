package memstore

import (
	"context"
	"errors"
	"slices"

	"github.com/heldcall/heldcall/approvals"
)

// Secrets are the encrypted records of secrets.
type Secrets struct {
	process  *process
	position position // of the watch
}

// GetSecret reads a record, or fails with [approvals.ErrUnknownSecret].
func (s *Secrets) GetSecret(ctx context.Context, id string) (sealed []byte, revision uint64, err error) {
	err = s.process.do(ctx, "read secret "+id, func() error {
		r, err := s.process.memory.secrets.get(id)
		if errors.Is(err, errNoRow) {
			return approvals.ErrUnknownSecret
		}
		sealed, revision = slices.Clone(r.value), r.revision
		return err
	})
	return sealed, revision, err
}

// CreateSecret writes a record of an id that has none or whose record was deleted, else it fails with
// [approvals.ErrConflict].
func (s *Secrets) CreateSecret(ctx context.Context, id string, sealed []byte) (revision uint64, err error) {
	err = s.process.do(ctx, "record secret "+id, func() error {
		revision, err = s.process.memory.secrets.create(row{key: id, value: sealed})
		return err
	})
	return revision, err
}

// UpdateSecret replaces the record at a revision, else it fails with [approvals.ErrConflict].
func (s *Secrets) UpdateSecret(ctx context.Context, id string, sealed []byte, at uint64) (revision uint64, err error) {
	err = s.process.do(ctx, "write secret "+id, func() error {
		revision, err = s.process.memory.secrets.compareAndSet(row{key: id, value: sealed}, at)
		return err
	})
	return revision, err
}

// DeleteSecret deletes a record that is at a revision (0: at any), else it fails with
// [approvals.ErrConflict].
func (s *Secrets) DeleteSecret(ctx context.Context, id string, at uint64) error {
	return s.process.do(ctx, "delete secret "+id, func() error {
		secrets := &s.process.memory.secrets
		if at == 0 {
			at = secrets.find(id).revision
		}
		_, err := secrets.compareAndSet(row{key: id, mark: removed}, at)
		return err
	})
}

// EraseSecrets does nothing: memory has no older records.
func (s *Secrets) EraseSecrets(context.Context) error { return nil }

// WatchSecrets calls changed with every record and every change of one, and gone with the ids of deleted
// ones and the revisions of their deletion.
func (s *Secrets) WatchSecrets(ctx context.Context, changed func(id string, sealed []byte, revision uint64), gone func(id string, revision uint64), whenLoaded func()) error {
	return s.process.watch(ctx, &s.process.memory.secrets, watched{current: loaded(whenLoaded), position: &s.position, change: func(r row) {
		if r.live() {
			changed(r.key, slices.Clone(r.value), r.revision)
		} else {
			gone(r.key, r.revision)
		}
	}})
}

// AwaitSecrets waits until WatchSecrets has called changed and gone with all that any process had
// written before the call.
func (s *Secrets) AwaitSecrets(ctx context.Context) error {
	return s.process.reach(ctx, &s.process.memory.secrets, &s.position)
}
