package natskv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

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
// later revision are those of this write. See [Backend.Again] for a cluster that does not
// answer.
func (b Bucket) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (written uint64, err error) {
	doing := "write " + b.KV.Bucket() + "/" + key
	if cause := b.Backend.Disk.Unwritable(ctx); cause != nil {
		return 0, b.Backend.Fail(OpWrite, doing, cause)
	}
	defer func() {
		if !errors.Is(err, approvals.ErrConflict) {
			err = b.Backend.Disk.Wrote(b.KV.Bucket(), err)
		}
	}()
	write := update{b, doing, key, value, revision}
	again := false
	err = b.Backend.Again(ctx, func() error {
		written, err = write.do(ctx, again)
		again = true
		return err
	})
	return written, err
}

// Create writes the value of a key that has none, or whose value was deleted. It reports whether the
// key exists: then it has written nothing, or another writer was faster.
func (b Bucket) Create(ctx context.Context, key string, value []byte) (revision uint64, exists bool, err error) {
	revision, err = b.KV.Create(ctx, key, value)
	if errors.Is(err, jetstream.ErrKeyExists) || WrongSequence(err) { // the second from a cluster whose other write is in progress
		return 0, true, nil
	}
	return revision, false, err
}

// update is a compare-and-set.
type update struct {
	bucket   Bucket
	doing    string // in errors
	key      string
	value    []byte
	revision uint64 // before it
}

// do writes the value. again: an earlier write of it may have been done.
func (u update) do(ctx context.Context, again bool) (written uint64, err error) {
	b := u.bucket.Backend
	done, err := b.acquireWrite(ctx)
	if err != nil {
		return 0, b.Fail(OpWrite, u.doing, err)
	}
	defer done()
	err = b.Bounded(ctx, func(ctx context.Context) (err error) {
		written, err = Await(ctx, func(ctx context.Context) (uint64, error) {
			return u.bucket.KV.Update(ctx, u.key, u.value, u.revision)
		})
		return err
	})
	switch {
	case err == nil:
		return written, nil
	case WrongSequence(err) && !again:
		return 0, fmt.Errorf("%s: %w", u.doing, approvals.ErrConflict)
	case refused(err) && !WrongSequence(err):
		return 0, b.Fail(OpWrite, u.doing, err)
	}
	return u.outcome(ctx, err)
}

// outcome reads whether the write was done; err is that of the write.
func (u update) outcome(ctx context.Context, err error) (written uint64, _ error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), OpTimeout)
	defer cancel()
	entry, readErr := u.bucket.read(ctx, u.key)
	switch {
	case readErr != nil || entry.Revision() <= u.revision:
		return 0, u.bucket.Backend.Fail(OpWrite, u.doing, err)
	case bytes.Equal(entry.Value(), u.value):
		return entry.Revision(), nil
	}
	return 0, fmt.Errorf("%s: %w", u.doing, approvals.ErrConflict)
}

// Get reads the value of a key. unknown is the error for a key without a value. See
// [Backend.Again] for a cluster that does not answer.
func (b Bucket) Get(ctx context.Context, key string, unknown error) (entry jetstream.KeyValueEntry, err error) {
	err = b.Backend.Again(ctx, func() error {
		ctx, cancel := b.Backend.attempt(ctx)
		defer cancel()
		entry, err = b.read(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return fmt.Errorf("read %s/%s: %w", b.KV.Bucket(), key, unknown)
		}
		if err != nil {
			return b.Backend.Fail(OpRead, "read "+b.KV.Bucket()+"/"+key, err)
		}
		return nil
	})
	return entry, err
}

func (b Bucket) read(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	return Await(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return b.KV.Get(ctx, key) })
}

// EraseOlder overwrites the bytes of all records of a key but the last one, which may be the mark of a
// deleted value. The bucket needs a history: see [Backend.EnsureBucket].
func (b Bucket) EraseOlder(ctx context.Context, key string) error {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	stream, err := b.stream(ctx)
	if err != nil {
		return err
	}
	subject := b.subject(key)
	last, err := stream.GetLastMsgForSubject(ctx, subject)
	if err != nil {
		return b.Backend.Fail(OpRead, "read the last record of "+b.KV.Bucket()+"/"+key, err)
	}
	for older, err := range Messages(ctx, stream, subject, 1) {
		if err == nil && older.Sequence < last.Sequence {
			err = stream.SecureDeleteMsg(ctx, older.Sequence)
		}
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) { // then another replica was faster
			return b.Backend.Fail(OpWrite, "erase an older record of "+b.KV.Bucket()+"/"+key, err)
		}
	}
	return nil
}

// WithHistory returns the keys that have more than one record.
func (b Bucket) WithHistory(ctx context.Context) (keys []string, err error) {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(b.subject(">")))
	if err != nil {
		return nil, b.Backend.Fail(OpRead, "list the records of "+b.KV.Bucket(), err)
	}
	for subject, records := range info.State.Subjects {
		if records > 1 {
			keys = append(keys, strings.TrimPrefix(subject, b.subject("")))
		}
	}
	return keys, nil
}

func (b Bucket) subject(key string) string { return "$KV." + b.KV.Bucket() + "." + key }

func (b Bucket) stream(ctx context.Context) (jetstream.Stream, error) {
	stream, err := b.Backend.JS.Stream(ctx, "KV_"+b.KV.Bucket())
	if err != nil {
		return nil, b.Backend.Fail(OpRead, "open the bucket "+b.KV.Bucket(), err)
	}
	return stream, nil
}
