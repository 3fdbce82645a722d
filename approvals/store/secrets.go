package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
)

// Secrets are the encrypted records of secrets.
type Secrets struct {
	bucket   natskv.Bucket
	position natskv.Position // of the watch
}

// GetSecret reads a record, or fails with [approvals.ErrUnknownSecret].
func (s *Secrets) GetSecret(ctx context.Context, id string) ([]byte, uint64, error) {
	entry, err := s.bucket.Get(ctx, id, approvals.ErrUnknownSecret)
	if err != nil {
		return nil, 0, err
	}
	return entry.Value(), entry.Revision(), nil
}

// CreateSecret writes a record of an id that has none or whose record was deleted, else it
// fails with [approvals.ErrConflict].
func (s *Secrets) CreateSecret(ctx context.Context, id string, sealed []byte) (revision uint64, err error) {
	exists := false
	err = s.bucket.Backend.Write(ctx, natskv.OpWrite, "record secret "+id, func(ctx context.Context) (err error) {
		revision, exists, err = s.bucket.Create(ctx, id, sealed)
		return err
	})
	if err == nil && exists {
		err = approvals.ErrConflict
	}
	return revision, err
}

// UpdateSecret replaces the record at a revision, and erases its bytes, else it fails with
// [approvals.ErrConflict].
func (s *Secrets) UpdateSecret(ctx context.Context, id string, sealed []byte, at uint64) (uint64, error) {
	revision, err := s.bucket.CompareAndSet(ctx, id, sealed, at)
	if err == nil {
		s.erase(ctx, id)
	}
	return revision, err
}

// DeleteSecret deletes a record that is at a revision (0: at any), and erases the bytes of all its
// versions, else it fails with [approvals.ErrConflict].
func (s *Secrets) DeleteSecret(ctx context.Context, id string, at uint64) error {
	conflict := false
	err := s.bucket.Backend.Write(ctx, natskv.OpWrite, "delete secret "+id, func(ctx context.Context) error {
		err := s.bucket.KV.Delete(ctx, id, jetstream.LastRevision(at))
		if conflict = natskv.WrongSequence(err) || errors.Is(err, jetstream.ErrKeyRevisionMismatch); conflict {
			return nil
		}
		return err
	})
	if conflict {
		return fmt.Errorf("delete secret %s: %w", id, approvals.ErrConflict)
	}
	if err == nil {
		s.erase(ctx, id)
	}
	return err
}

// erase erases the older records of an id, also if the caller has gone. What could not be erased is
// erased by [Secrets.EraseSecrets] later.
func (s *Secrets) erase(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), approvals.WriteTimeout)
	defer cancel()
	if err := s.bucket.EraseOlder(ctx, id); err != nil {
		s.bucket.Backend.Log.Error("an older value of a secret is still in the store, encrypted; trying again in an hour, and at the next start", "id", id, "error", err)
	}
}

// EraseSecrets erases the older records of all secrets that a crash or an error has left.
func (s *Secrets) EraseSecrets(ctx context.Context) error {
	ids, err := s.bucket.WithHistory(ctx)
	for _, id := range ids {
		s.erase(ctx, id)
	}
	return err
}

// WatchSecrets calls changed with every record and every change of one, and gone with the
// ids of deleted ones and the revisions of their deletion.
func (s *Secrets) WatchSecrets(ctx context.Context, changed func(id string, sealed []byte, revision uint64), gone func(id string, revision uint64), loaded func()) error {
	return s.bucket.Watch(ctx, natskv.Watched{Current: natskv.Loaded(loaded), Position: &s.position, Entry: func(entry *natskv.Entry) {
		if entry.Operation() != jetstream.KeyValuePut {
			gone(entry.Key(), entry.Revision())
			return
		}
		changed(entry.Key(), entry.Value(), entry.Revision())
	}})
}

// AwaitSecrets waits until WatchSecrets has called changed and gone with all that any replica had
// written before the call. [natskv.Backend.Again] repeats it while a cluster does not answer.
func (s *Secrets) AwaitSecrets(ctx context.Context) error {
	backend := s.bucket.Backend
	if backend.Disk != nil { // no other replica writes
		return nil
	}
	return backend.Again(ctx, func() error {
		ctx, cancel := natskv.Bounded(ctx)
		defer cancel()
		if err := s.bucket.Reach(ctx, &s.position); err != nil {
			return backend.Fail(natskv.OpRead, "find the last secret", err)
		}
		return nil
	})
}
