package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
)

// bucket is a key-value bucket.
type bucket struct {
	backend *backend
	kv      jetstream.KeyValue
}

// compareAndSet writes a value if its key is at a revision (0: has no value), else it fails
// with [approvals.ErrConflict]. If the reply is lost, it reads the outcome: equal bytes at a
// later revision are those of this write.
func (b bucket) compareAndSet(ctx context.Context, key string, value []byte, revision uint64) (written uint64, err error) {
	doing := "write " + b.kv.Bucket() + "/" + key
	if cause := b.backend.disk.unwritable(); cause != nil {
		return 0, b.backend.fail(opWrite, doing, cause)
	}
	defer func() {
		if !errors.Is(err, approvals.ErrConflict) {
			err = b.backend.disk.wrote(b.kv.Bucket(), err)
		}
	}()
	done, err := b.backend.acquireWrite(ctx)
	if err != nil {
		return 0, b.backend.fail(opWrite, doing, err)
	}
	defer done()
	err = b.backend.bounded(ctx, func(ctx context.Context) (err error) {
		written, err = await(ctx, func(ctx context.Context) (uint64, error) { return b.kv.Update(ctx, key, value, revision) })
		return err
	})
	switch {
	case err == nil:
		return written, nil
	case wrongSequence(err):
		return 0, fmt.Errorf("%s: %w", doing, approvals.ErrConflict)
	case refused(err):
		return 0, b.backend.fail(opWrite, doing, err)
	}
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), opTimeout)
	defer cancel()
	entry, readErr := b.read(read, key)
	switch {
	case readErr == nil && entry.Revision() > revision && bytes.Equal(entry.Value(), value):
		return entry.Revision(), nil
	case readErr == nil && entry.Revision() > revision:
		return 0, fmt.Errorf("%s: %w", doing, approvals.ErrConflict)
	}
	return 0, b.backend.fail(opWrite, doing, err)
}

// get reads the value of a key. unknown is the error for a key without a value.
func (b bucket) get(ctx context.Context, key string, unknown error) (jetstream.KeyValueEntry, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	entry, err := b.read(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, fmt.Errorf("read %s/%s: %w", b.kv.Bucket(), key, unknown)
	}
	if err != nil {
		return nil, b.backend.fail(opRead, "read "+b.kv.Bucket()+"/"+key, err)
	}
	return entry, nil
}

func (b bucket) read(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	return await(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return b.kv.Get(ctx, key) })
}
