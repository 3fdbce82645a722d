package natskv

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
)

// Bucket is a key-value bucket.
type Bucket struct {
	Backend *Backend
	KV      jetstream.KeyValue
}

// CompareAndSet writes a value if its key is at a revision (0: has no value), else it fails
// with [approvals.ErrConflict]. If the reply is lost, it reads the outcome: equal bytes at a
// later revision are those of this write.
func (b Bucket) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (written uint64, err error) {
	doing := "write " + b.KV.Bucket() + "/" + key
	if cause := b.Backend.Disk.Unwritable(); cause != nil {
		return 0, b.Backend.Fail(OpWrite, doing, cause)
	}
	defer func() {
		if !errors.Is(err, approvals.ErrConflict) {
			err = b.Backend.Disk.Wrote(b.KV.Bucket(), err)
		}
	}()
	done, err := b.Backend.acquireWrite(ctx)
	if err != nil {
		return 0, b.Backend.Fail(OpWrite, doing, err)
	}
	defer done()
	err = b.Backend.Bounded(ctx, func(ctx context.Context) (err error) {
		written, err = Await(ctx, func(ctx context.Context) (uint64, error) { return b.KV.Update(ctx, key, value, revision) })
		return err
	})
	switch {
	case err == nil:
		return written, nil
	case WrongSequence(err):
		return 0, fmt.Errorf("%s: %w", doing, approvals.ErrConflict)
	case refused(err):
		return 0, b.Backend.Fail(OpWrite, doing, err)
	}
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), OpTimeout)
	defer cancel()
	entry, readErr := b.read(read, key)
	switch {
	case readErr == nil && entry.Revision() > revision && bytes.Equal(entry.Value(), value):
		return entry.Revision(), nil
	case readErr == nil && entry.Revision() > revision:
		return 0, fmt.Errorf("%s: %w", doing, approvals.ErrConflict)
	}
	return 0, b.Backend.Fail(OpWrite, doing, err)
}

// Get reads the value of a key. unknown is the error for a key without a value.
func (b Bucket) Get(ctx context.Context, key string, unknown error) (jetstream.KeyValueEntry, error) {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	entry, err := b.read(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, fmt.Errorf("read %s/%s: %w", b.KV.Bucket(), key, unknown)
	}
	if err != nil {
		return nil, b.Backend.Fail(OpRead, "read "+b.KV.Bucket()+"/"+key, err)
	}
	return entry, nil
}

func (b Bucket) read(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	return Await(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return b.KV.Get(ctx, key) })
}
