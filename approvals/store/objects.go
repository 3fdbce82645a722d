package store

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/natskv"
)

// Subjects of the stream of the object store.
const (
	objectParts = "$O." + BucketHeldObjects + ".C." // with the NUID of the object
	objectInfos = "$O." + BucketHeldObjects + ".M." // with the base64 of its name
)

// objects has the snapshots that are too large for a key-value bucket, each under a name.
type objects struct {
	backend *natskv.Backend
	store   jetstream.ObjectStore
	stream  jetstream.Stream // of the store
}

// put writes an object and replaces the one with its name. It fails with
// [approvals.ErrNoRoom] if the stream is full, and removes the part that did fit.
func (o objects) put(ctx context.Context, name string, value []byte) error {
	doing := "store object " + name
	err := noRoom(doing, o.backend.Write(ctx, natskv.OpWrite, doing, func(ctx context.Context) error {
		_, err := o.store.PutBytes(ctx, name, value)
		return err
	}))
	if errors.Is(err, approvals.ErrNoRoom) {
		err = errors.Join(err, o.remove(ctx, name))
	}
	return err
}

// get reads an object, or fails with [approvals.ErrUnknownTurn].
func (o objects) get(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	value, err := o.store.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("read object %s: %w", name, approvals.ErrUnknownTurn)
	}
	if err != nil {
		return nil, o.backend.Fail(natskv.OpRead, "read object "+name, err)
	}
	return value, nil
}

// remove removes an object, if there is one, and leaves nothing of it in the stream:
// [jetstream.ObjectStore.Delete] leaves a marker.
func (o objects) remove(ctx context.Context, name string) error {
	return o.backend.Write(ctx, natskv.OpWrite, "remove object "+name, func(ctx context.Context) error {
		info, err := o.store.GetInfo(ctx, name, jetstream.GetObjectInfoShowDeleted())
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := o.stream.Purge(ctx, jetstream.WithPurgeSubject(objectParts+info.NUID)); err != nil {
			return err
		}
		return o.stream.Purge(ctx, jetstream.WithPurgeSubject(objectInfos+base64.URLEncoding.EncodeToString([]byte(name))))
	})
}

// sweep removes what a crash has left before a time: objects that are not wanted, and parts
// of objects that were not finished.
func (o objects) sweep(ctx context.Context, wanted func(name string) bool, before time.Time) error {
	all, err := o.store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return o.backend.Fail(natskv.OpRead, "list objects", err)
	}
	complete := map[string]bool{}
	for _, one := range all {
		complete[objectParts+one.NUID] = true
		if !wanted(one.Name) && one.ModTime.Before(before) {
			if err := o.remove(ctx, one.Name); err != nil {
				return err
			}
		}
	}
	info, err := o.stream.Info(ctx, jetstream.WithSubjectFilter(objectParts+">"))
	if err != nil {
		return o.backend.Fail(natskv.OpRead, "list the parts of objects", err)
	}
	for subject := range info.State.Subjects {
		if complete[subject] {
			continue
		}
		last, err := o.stream.GetLastMsgForSubject(ctx, subject)
		if err != nil || !last.Time.Before(before) {
			continue
		}
		if err := o.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return o.backend.Fail(natskv.OpWrite, "remove an unfinished object", err)
		}
	}
	return nil
}

// noRoom makes an [approvals.ErrNoRoom] of the error of a full bucket.
func noRoom(doing string, err error) error {
	if natskv.Full(err) {
		return fmt.Errorf("%s: %w", doing, approvals.ErrNoRoom)
	}
	return err
}
