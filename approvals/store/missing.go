package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

const (
	// madeStreams is the key of the metadata of the audit log on an external server. Its value
	// is the names of the streams that heldcall has made there, with spaces between them.
	madeStreams = "heldcall.streams"
	// A stream counts as missing if several looks do not find it: a server that has just started
	// may not know all streams.
	missingLooks, missingPause = 3, 500 * time.Millisecond
)

// MissingError reports that streams of an external server were removed.
type MissingError struct{ Streams []string }

// Error names the streams, and what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("the state is incomplete: %s. Stop all replicas, and restore a backup of all streams; or start with --accept-loss, which continues with the rest", e.Details())
}

// Details names the streams, "" for none.
func (e *MissingError) Details() string {
	if len(e.Streams) == 0 {
		return ""
	}
	return "missing streams: " + strings.Join(e.Streams, ", ")
}

// lasting returns the names of the streams that a restart of the server does not remove, sorted.
func lasting() []string {
	names := []string{subjects.StreamEvents, subjects.StreamRequests, "KV_" + BucketHeld, "KV_" + BucketHeldStates, "OBJ_" + BucketHeldObjects}
	for _, bucket := range provisionedBuckets(0) {
		names = append(names, "KV_"+bucket.name)
	}
	slices.Sort(names)
	return names
}

// checkMissing returns the streams that were removed from an external server, and fails
// with a [MissingError] unless their loss is accepted.
func checkMissing(ctx context.Context, b *natskv.Backend, accept bool) (lost MissingError, err error) {
	for look := range missingLooks {
		if look > 0 {
			time.Sleep(missingPause)
		}
		if err := b.WhenReady(ctx, "look for the streams", func(ctx context.Context) (err error) {
			lost.Streams, err = missing(ctx, b.JS)
			return err
		}); err != nil || len(lost.Streams) == 0 {
			return lost, err
		}
	}
	if !accept {
		return lost, &lost
	}
	b.Log.Error("streams are missing, and their loss is accepted", "streams", lost.Streams)
	return lost, nil
}

// missing returns the names of the streams that heldcall has made on a server and that are not there.
func missing(ctx context.Context, js jetstream.JetStream) (lost []string, err error) {
	written := false // so all streams had been made before
	for _, name := range lasting() {
		stream, err := js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			lost = append(lost, name)
		case err != nil:
			return nil, err
		default:
			written = written || stream.CachedInfo().State.LastSeq > 0
		}
	}
	events, err := js.Stream(ctx, subjects.StreamEvents) // after the others: another replica may be making all
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && written:
		return lost, nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	made := strings.Fields(events.CachedInfo().Config.Metadata[madeStreams])
	return slices.DeleteFunc(lost, func(name string) bool { return !slices.Contains(made, name) }), nil
}

// recordMade records the names of the streams in the metadata of the audit log.
func recordMade(ctx context.Context, b *natskv.Backend, events jetstream.Stream) error {
	config := events.CachedInfo().Config
	made := append(strings.Fields(config.Metadata[madeStreams]), lasting()...)
	slices.Sort(made)
	text := strings.Join(slices.Compact(made), " ")
	if config.Metadata[madeStreams] == text {
		return nil
	}
	config.Metadata = maps.Clone(config.Metadata)
	if config.Metadata == nil {
		config.Metadata = map[string]string{}
	}
	config.Metadata[madeStreams] = text
	return b.WhenReady(ctx, "record the streams", func(ctx context.Context) error {
		_, err := b.JS.UpdateStream(ctx, config)
		return err
	})
}
