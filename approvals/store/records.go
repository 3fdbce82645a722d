package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// Records is a bucket of JSON records of one type, each under the token of its id.
type Records[T any] struct {
	bucket  natskv.Bucket
	kind    string // of a record, in errors and logs
	unknown error  // for an id without a record
	id      func(*T) string
}

// record is a record as it is stored.
type record[T any] struct {
	value    T
	revision uint64
	at       time.Time // when this revision was written, UTC
}

// Put writes a record whose key is at a revision (0: has no value), else it fails with
// [approvals.ErrConflict].
func (r *Records[T]) Put(ctx context.Context, v T, revision uint64) error {
	_, err := r.put(ctx, v, revision, r.bucket.Backend.MaxRecord())
	return err
}

// Get reads the record of an id. The error for an id without one is that of its type.
func (r *Records[T]) Get(ctx context.Context, id string) (T, uint64, error) {
	stored, err := r.get(ctx, id)
	return stored.value, stored.revision, err
}

// Watch calls changed with every record and every change of one. Records that are deleted
// by age are not reported.
func (r *Records[T]) Watch(ctx context.Context, changed func(T), loaded func()) error {
	return r.watch(ctx, func(one record[T]) { changed(one.value) }, func(string) {}, natskv.Watched{Current: natskv.Loaded(loaded)})
}

// put writes a record of at most limit bytes whose key is at a revision (0: has no
// value).
func (r *Records[T]) put(ctx context.Context, v T, revision uint64, limit int) (written uint64, err error) {
	id := r.id(&v)
	value, err := approvals.EncodeJSON(v)
	if err != nil {
		return 0, fmt.Errorf("encode %s %s: %w", r.kind, id, err)
	}
	if len(value) > limit {
		return 0, fmt.Errorf("%s %s has %d bytes, the limit is %d: %w", r.kind, id, len(value), limit, approvals.ErrTooLarge)
	}
	return r.bucket.CompareAndSet(ctx, subjects.Token(id), value, revision)
}

// get reads the record of an id.
func (r *Records[T]) get(ctx context.Context, id string) (record[T], error) {
	entry, err := r.bucket.Get(ctx, subjects.Token(id), r.unknown)
	if err != nil {
		return record[T]{}, err
	}
	return r.decode(entry)
}

// errUnreadable is in the error for a record that was read, but has another format or id.
var errUnreadable = errors.New("the record cannot be read")

// decode parses a record. It fails with errUnreadable, also for a record under the key of another id.
func (r *Records[T]) decode(entry jetstream.KeyValueEntry) (record[T], error) {
	stored := record[T]{revision: entry.Revision(), at: entry.Created().UTC()}
	if err := json.Unmarshal(entry.Value(), &stored.value); err != nil {
		return stored, fmt.Errorf("read %s %s: %w: %w: %w", r.kind, entry.Key(), approvals.ErrStoreUnavailable, errUnreadable, err)
	}
	if id := r.id(&stored.value); subjects.Token(id) != entry.Key() {
		return stored, fmt.Errorf("read %s %s: %w: %w: it is of %s %q", r.kind, entry.Key(), approvals.ErrStoreUnavailable, errUnreadable, r.kind, id)
	}
	return stored, nil
}

// watch calls changed with every record and every change of one, and deleted with the ids
// of deleted records, until the context ends. The caller sets w.After, w.Current and w.Position.
func (r *Records[T]) watch(ctx context.Context, changed func(record[T]), deleted func(id string), w natskv.Watched) error {
	return r.watchAll(ctx, func(one record[T], err error) {
		if err == nil {
			changed(one)
		}
	}, deleted, w)
}

// watchAll is watch that also calls changed with the revision of each record that cannot be read, and
// the error, which it has logged.
func (r *Records[T]) watchAll(ctx context.Context, changed func(record[T], error), deleted func(id string), w natskv.Watched) error {
	w.Entry = func(entry *natskv.Entry) {
		if entry.Operation() != jetstream.KeyValuePut {
			if id, err := subjects.ParseToken(entry.Key()); err == nil {
				deleted(id)
			}
			return
		}
		stored, err := r.decode(entry)
		if err != nil {
			r.bucket.Backend.Log.Error("failed to read a record", "kind", r.kind, "key", entry.Key(), "error", err)
		}
		changed(stored, err)
	}
	return r.bucket.Watch(ctx, w)
}

// purge removes the value of a key. It fails with [approvals.ErrConflict] if the key is not at the revision
// that the options require.
func purge(ctx context.Context, b natskv.Bucket, doing, key string, options ...jetstream.KVDeleteOpt) error {
	conflict := false
	err := b.Backend.Write(ctx, natskv.OpWrite, doing, func(ctx context.Context) error {
		err := b.KV.Purge(ctx, key, options...)
		if conflict = natskv.WrongSequence(err) || errors.Is(err, jetstream.ErrKeyRevisionMismatch); conflict {
			return nil
		}
		return err
	})
	if conflict {
		return fmt.Errorf("%s: %w", doing, approvals.ErrConflict)
	}
	return err
}
