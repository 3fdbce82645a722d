package natskv

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Watched has the callbacks of a watch. One goroutine calls them.
type Watched struct {
	Keys  bool   // names only, no values
	After uint64 // the revision after which the watch begins
	Entry func(*Entry)
	// Current is called with true when Entry has been called with all entries and changes so
	// far, and with false when changes may be missing.
	Current func(bool)
	// Position is updated after the calls of Entry and Current. It may be nil.
	Position *Position
}

// Loaded returns a [Watched.Current] that calls loaded once, after the entries that existed
// before.
func Loaded(loaded func()) func(current bool) {
	once := sync.OnceFunc(loaded)
	return func(current bool) {
		if current {
			once()
		}
	}
}

const (
	// rewatchDelay is the delay after a watch that could not be opened, or has ended at once, if
	// there is no reconnect.
	rewatchDelay = 500 * time.Millisecond
	// unopened is the time after which a watch that cannot be opened tries another server: a
	// cluster elects a leader sooner.
	unopened = 12 * time.Second
	// openTimeout bounds the first attempt to open a watch: while a cluster elects a leader, an
	// attempt has no answer, but a later one has. Each further attempt may take twice as long as
	// the one before, up to OpTimeout: a busy server answers late.
	openTimeout = 2 * time.Second
	// watchHeartbeat is the time between two heartbeats of an idle watch. A watch without two
	// is opened again: the server of a cluster that had its consumer may be lost.
	watchHeartbeat = time.Second
	// localHeartbeat is watchHeartbeat with the embedded server, which is not lost.
	localHeartbeat = 15 * time.Second
	// watchAhead and watchBytes bound what a watch requests from the server at a time. The
	// bytes are more than a message has, and less than a client may leave unread.
	watchAhead = 500
	watchBytes = 32 << 20
	// idleWatch is the time after which the server removes the consumer of a watch that has
	// ended.
	idleWatch = 30 * time.Second
)

// expiredLook is the time without a message after which a watch looks whether the entries for which it
// waits are still there.
const expiredLook = 2 * time.Second

// errMissed ends a watch that has lost messages.
var errMissed = errors.New("messages of the watch are missing")

// Watch calls w.Entry with every entry of the bucket after w.After, then with every change, until the
// context ends. After a reconnect, or when the server is silent, it resumes after the last
// revision: a bucket keeps one revision of each key, so entries and changes are in the order
// of revisions.
func (b Bucket) Watch(ctx context.Context, w Watched) error {
	watch := &watch{bucket: b, Watched: w, last: w.After, timeout: openTimeout}
	var failing time.Time // since when it cannot be opened
	for ctx.Err() == nil {
		reconnected, began := b.Backend.NextReconnect(), time.Now()
		err := watch.follow(ctx, reconnected)
		watch.setCurrent(false)
		switch {
		case ctx.Err() != nil:
		case errors.As(err, new(*openError)):
			watch.timeout = min(2*watch.timeout, OpTimeout)
			err, level := b.Backend.Fail(opWatch, "watch "+b.KV.Bucket(), err), slog.LevelDebug
			switch {
			case failing.IsZero():
				failing, level = began, slog.LevelWarn
			case time.Since(failing) > unopened:
				b.Backend.leaveServer(err)
			}
			b.Backend.Log.Log(ctx, level, "failed to watch; trying again", "error", err)
		default:
			failing, watch.timeout = time.Time{}, openTimeout
			b.Backend.Log.Debug("a watch has ended; opening it again", "bucket", b.KV.Bucket(), "error", err)
			if time.Since(began) > rewatchDelay {
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-reconnected:
		case <-time.After(rewatchDelay):
		}
	}
	return nil
}

// watch is the state of a [Bucket.Watch].
type watch struct {
	Watched
	bucket  Bucket
	last    uint64        // revision of the last entry
	timeout time.Duration // of the next attempt to open it
	ahead   jetstream.Msg // that was read, and is to be handled
}

// follow reads the changes after the last revision until the next reconnect, an error or the
// end of the context.
func (w *watch) follow(ctx context.Context, reconnected <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-reconnected:
			cancel()
		case <-ctx.Done():
		}
	}()
	w.ahead = nil
	consumer, existing, err := w.open(ctx)
	if err != nil {
		return unlessEnded(ctx, &openError{err})
	}
	heartbeat := watchHeartbeat
	if w.bucket.Backend.Disk != nil {
		heartbeat = localHeartbeat
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(watchAhead, watchBytes), jetstream.PullHeartbeat(heartbeat), jetstream.PullExpiry(4*heartbeat))
	if err != nil {
		return &openError{err}
	}
	defer messages.Stop()
	left := consumer.CachedInfo().NumPending // entries until the watch is current
	for delivered := uint64(0); ; delivered++ {
		if delivered < left {
			if left, err = w.awaitExisting(ctx, consumer, messages, delivered, left); err != nil {
				return unlessEnded(ctx, err)
			}
		}
		if delivered == left {
			w.Position.read(existing)
			w.setCurrent(true)
		}
		msg, err := w.next(ctx, messages)
		if err != nil {
			return unlessEnded(ctx, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != delivered+1 {
			return errMissed
		}
		if delivered < left && meta.NumPending == 0 { // entries were replaced meanwhile
			left = delivered + 1
		}
		w.last = meta.Sequence.Stream
		w.Entry(&Entry{bucket: w.bucket.KV.Bucket(), msg: msg, meta: meta})
		w.Position.read(w.last)
	}
}

// awaitExisting waits for the next of the entries that were there when the watch was opened, and
// returns how many those are. It is delivered where the rest has expired or was removed since: then
// no message follows by which that is known.
func (w *watch) awaitExisting(ctx context.Context, consumer jetstream.Consumer, messages jetstream.MessagesContext, delivered, left uint64) (uint64, error) {
	for w.ahead == nil {
		wait, stop := context.WithTimeout(ctx, expiredLook)
		msg, err := Next(wait, messages)
		stop()
		switch {
		case err == nil:
			w.ahead = msg
			continue
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return left, err
		}
		ask, stop := context.WithTimeout(ctx, OpTimeout)
		info, err := consumer.Info(ask)
		stop()
		if err != nil {
			return left, err
		}
		if info.NumPending == 0 && info.Delivered.Consumer <= delivered {
			return delivered, nil
		}
	}
	return left, nil
}

// next returns the next message.
func (w *watch) next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	if msg := w.ahead; msg != nil {
		w.ahead = nil
		return msg, nil
	}
	return Next(ctx, messages)
}

// setCurrent reports whether the watch is current, after the position has it.
func (w *watch) setCurrent(current bool) {
	w.Position.setCurrent(current)
	w.Current(current)
}

// open creates the consumer of a watch. It has its state in the memory of one server, and is
// removed by it. When the watch is current, it has read what there is up to the revision existing.
func (w *watch) open(ctx context.Context) (consumer jetstream.Consumer, existing uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	if w.Position != nil {
		if existing, err = w.bucket.lastRevision(ctx); err != nil {
			return nil, 0, err
		}
	}
	consumer, err = w.bucket.Backend.JS.CreateConsumer(ctx, "KV_"+w.bucket.KV.Bucket(), jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: w.last + 1, HeadersOnly: w.Keys,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: idleWatch,
	})
	return consumer, existing, err
}

// openError is the error of a watch that could not be opened.
type openError struct{ error }

func (e *openError) Unwrap() error { return e.error }

// unlessEnded returns err, or nil if the context has ended.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// Entry is a message of a bucket's stream as an entry of the bucket, a
// [jetstream.KeyValueEntry]: see the NATS architecture decision record ADR-8.
type Entry struct {
	bucket string
	msg    jetstream.Msg
	meta   *jetstream.MsgMetadata
}

// Bucket returns the name of the bucket.
func (e *Entry) Bucket() string { return e.bucket }

// Key returns the key.
func (e *Entry) Key() string { return e.msg.Subject()[len("$KV.")+len(e.bucket)+1:] }

// Value returns the value, nil in a watch of names.
func (e *Entry) Value() []byte { return e.msg.Data() }

// Revision returns the revision of the bucket that wrote the entry.
func (e *Entry) Revision() uint64 { return e.meta.Sequence.Stream }

// Created returns when the entry was written.
func (e *Entry) Created() time.Time { return e.meta.Timestamp }

// Delta returns the number of later entries that the watch has still to read.
func (e *Entry) Delta() uint64 { return e.meta.NumPending }

// Operation returns the operation of a marker. The server itself writes markers of values
// that it has removed.
func (e *Entry) Operation() jetstream.KeyValueOp {
	switch h := e.msg.Headers(); {
	case h.Get("KV-Operation") == "DEL":
		return jetstream.KeyValueDelete
	case h.Get("KV-Operation") == "PURGE", h.Get(jetstream.MarkerReasonHeader) != "":
		return jetstream.KeyValuePurge
	}
	return jetstream.KeyValuePut
}

// Header returns the value of a header of the message, "" without one.
func (e *Entry) Header(name string) string { return e.msg.Headers().Get(name) }
