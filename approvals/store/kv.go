package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
)

// encode writes a record as JSON, the arguments in it as they are.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// compareAndSet writes a record if its key stands at a revision (0: has no
// value), else it fails with [approvals.ErrConflict]. If the answer is lost, it
// reads what became of the write: our very bytes at a later revision are ours.
func (s *Store) compareAndSet(ctx context.Context, kv jetstream.KeyValue, key string, value []byte, revision uint64) (written uint64, err error) {
	doing := "write " + kv.Bucket() + "/" + key
	if cause := s.disk.unwritable(); cause != nil {
		return 0, s.fail(opWrite, doing, cause)
	}
	defer func() {
		if !errors.Is(err, approvals.ErrConflict) {
			err = s.disk.wrote(kv.Bucket(), err)
		}
	}()
	done, err := s.turn(ctx)
	if err != nil {
		return 0, s.fail(opWrite, doing, err)
	}
	defer done()
	write, cancel := bounded(ctx)
	written, err = kv.Update(write, key, value, revision)
	cancel()
	switch {
	case err == nil:
		return written, nil
	case wrongSequence(err):
		return 0, fmt.Errorf("%s: %w", doing, approvals.ErrConflict)
	case refused(err):
		return 0, s.fail(opWrite, doing, err)
	}
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), opTimeout)
	defer cancel()
	entry, readErr := kv.Get(read, key)
	switch {
	case readErr == nil && entry.Revision() > revision && bytes.Equal(entry.Value(), value):
		return entry.Revision(), nil
	case readErr == nil && entry.Revision() > revision:
		return 0, fmt.Errorf("%s: %w", doing, approvals.ErrConflict)
	}
	return 0, s.fail(opWrite, doing, err)
}

// get reads a record.
func (s *Store) get(ctx context.Context, kv jetstream.KeyValue, key string, unknown error) (jetstream.KeyValueEntry, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	entry, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, fmt.Errorf("read %s/%s: %w", kv.Bucket(), key, unknown)
	}
	if err != nil {
		return nil, s.fail(opRead, "read "+kv.Bucket()+"/"+key, err)
	}
	return entry, nil
}
