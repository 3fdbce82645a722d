package memstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
)

// Records is a table of records of one type, each under its id. A record is kept as JSON, so its
// readers share nothing with its writer.
type Records[T any] struct {
	process *process
	table   *table
	kind    string // of a record, in errors
	unknown error  // for an id without a record
	id      func(*T) string
}

func newRecords[T any](p *process, t *table, kind string, unknown error, id func(*T) string) *Records[T] {
	return &Records[T]{p, t, kind, unknown, id}
}

// Put writes a record whose key is at a revision (0: has no value), else it fails with
// [approvals.ErrConflict].
func (r *Records[T]) Put(ctx context.Context, record T, revision uint64) error {
	_, err := r.put(ctx, record, revision, maxRecord)
	return err
}

// Get reads the record of an id. The error for an id without one is that of its type.
func (r *Records[T]) Get(ctx context.Context, id string) (record T, revision uint64, err error) {
	record, at, err := r.get(ctx, id)
	return record, at.revision, err
}

// Watch calls changed with every record and every change of one.
func (r *Records[T]) Watch(ctx context.Context, changed func(T), whenLoaded func()) error {
	return r.process.watch(ctx, r.table, watched{current: loaded(whenLoaded), change: func(at row) { changed(r.decode(at)) }})
}

// put writes a record of at most limit bytes whose key is at a revision (0: has no value).
func (r *Records[T]) put(ctx context.Context, record T, revision uint64, limit int) (written uint64, err error) {
	id := r.id(&record)
	value, err := approvals.EncodeJSON(record)
	if err != nil {
		return 0, fmt.Errorf("encode %s %s: %w", r.kind, id, err)
	}
	if len(value) > limit {
		return 0, fmt.Errorf("%s %s has %d bytes, the limit is %d: %w", r.kind, id, len(value), limit, approvals.ErrTooLarge)
	}
	err = r.process.do(ctx, "write "+r.kind+" "+id, func() (err error) {
		written, err = r.table.compareAndSet(row{key: id, value: value}, revision)
		return err
	})
	return written, err
}

// get reads the record of an id, and the row that has it.
func (r *Records[T]) get(ctx context.Context, id string) (record T, at row, err error) {
	err = r.process.do(ctx, "read "+r.kind+" "+id, func() error {
		at, err = r.table.get(id)
		if errors.Is(err, errNoRow) {
			return r.unknown
		}
		return err
	})
	if err != nil {
		return record, at, err
	}
	return r.decode(at), at, nil
}

// decode returns the record of a row with a value.
func (r *Records[T]) decode(at row) (record T) {
	if err := json.Unmarshal(at.value, &record); err != nil {
		panic(fmt.Sprintf("%s %s was encoded and cannot be decoded: %v", r.kind, at.key, err))
	}
	return record
}
