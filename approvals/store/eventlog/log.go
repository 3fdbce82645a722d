// Package eventlog keeps the audit log in a stream of NATS JetStream. With the embedded server, a journal
// makes entries durable before they are in the stream.
//
// Read log.go, then stream.go (appending to a stream), journaled.go and reader.go.
package eventlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store/journal"
	"github.com/heldcall/heldcall/approvals/store/natskv"
)

// Log is the audit log, a chain of events. It is safe for concurrent use.
type Log struct {
	reader
	backend *natskv.Backend
	stream  audit.Stream // the journal with the embedded server, else the stream of the server
	chain   *audit.Log
	lost    string
}

// New returns the log in a stream of an external server. lost describes the accepted loss of state, "" for none.
func New(backend *natskv.Backend, stream jetstream.Stream, lost string) *Log {
	events := eventStream{backend, stream}
	return &Log{reader: reader{events: events}, backend: backend, stream: events, chain: audit.NewLog(events, backend.MaxRecord), lost: lost}
}

// Open returns the log in a stream of the embedded server, with a journal in a file. If the file has entries that do
// not continue the stream, it fails with a [*journal.GapError] unless that loss is accepted.
func Open(ctx context.Context, backend *natskv.Backend, stream jetstream.Stream, path string, acceptLoss bool) (*Log, error) {
	l := &Log{reader: reader{events: eventStream{backend, stream}}, backend: backend}
	options := journal.Options{Report: func(err error) error { return backend.Disk.Wrote("published events", err) }}
	j, err := journal.Open(ctx, path, published{l.events}, options)
	if gap := (*journal.GapError)(nil); acceptLoss && errors.As(err, &gap) {
		l.lost = gap.Error()
		backend.Log.Warn("continuing without what the journal of the audit log contains", "file", path, "loss", l.lost)
		options.DropGap = true
		j, err = journal.Open(ctx, path, published{l.events}, options)
	}
	if err != nil {
		return nil, err
	}
	l.journal, l.stream = j, journaled{j, backend}
	l.chain = audit.NewLog(l.stream, backend.MaxRecord)
	return l, nil
}

// Loss describes the accepted loss of state, "" for none.
func (l *Log) Loss() string { return l.lost }

// lastPublications is the time limit for the publication of the last entries.
const lastPublications = 2 * time.Second

// Close waits for the appends in progress, and closes the journal. Entries that cannot be published now are
// published at the next start.
func (l *Log) Close() error {
	l.chain.Wait()
	if l.journal == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastPublications)
	defer cancel()
	return l.journal.Close(ctx)
}

// AppendEvents adds to the audit chain.
func (l *Log) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	if cause := l.backend.Disk.Unwritable(); cause != nil {
		return l.backend.Fail(natskv.OpAppend, "append to the audit log", cause)
	}
	err := l.backend.Again(ctx, func() error { return l.chain.Append(ctx, events...) })
	if !errors.Is(err, approvals.ErrTooLarge) {
		err = l.backend.Disk.Wrote("events", err)
	}
	if err == nil || errors.Is(err, approvals.ErrTooLarge) || errors.Is(err, approvals.ErrStoreUnavailable) {
		return err
	}
	return l.backend.Fail(natskv.OpAppend, "append to the audit log", err)
}

// EnsureEvent appends an event unless one with its id is in the log.
func (l *Log) EnsureEvent(ctx context.Context, e approvals.Event) error {
	ctx, cancel := context.WithTimeout(ctx, 2*natskv.OpTimeout)
	defer cancel()
	err := l.chain.Ensure(ctx, e, func(ctx context.Context) (bool, error) { return l.has(ctx, e) })
	if err == nil || errors.Is(err, approvals.ErrStoreUnavailable) {
		return err
	}
	return l.backend.Fail(natskv.OpAppend, "append to the audit log", err)
}

// Head returns the end of the log.
func (l *Log) Head(ctx context.Context) (audit.Head, error) {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	head, err := l.stream.Head(ctx)
	return head, l.unavailable("read the end of the audit log", err)
}

// unavailable returns an error of a read that wraps [approvals.ErrStoreUnavailable], unless it does or there
// is no such entry.
func (l *Log) unavailable(doing string, err error) error {
	if err == nil || errors.Is(err, approvals.ErrStoreUnavailable) || errors.Is(err, audit.ErrNoEntry) {
		return err
	}
	return l.backend.Fail(natskv.OpRead, doing, err)
}

// Entry reads one entry, or fails with [audit.ErrNoEntry].
func (l *Log) Entry(ctx context.Context, seq uint64) (audit.Entry, error) {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	entry, err := l.stream.Entry(ctx, seq)
	return entry, l.unavailable("read the audit log", err)
}

// Events yields the audit log from a sequence on and waits for more.
func (l *Log) Events(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		for entry, err := range l.read(ctx, fromSequence(from)) {
			if err == nil && entry.Event.ID == "" {
				continue // not an event: audit.Verify reports it
			}
			if !yield(entry.Event, err) {
				return
			}
		}
	}
}

// LastSeq returns the sequence number of the latest event, 0 for none.
func (l *Log) LastSeq(ctx context.Context) (uint64, error) {
	head, err := l.Head(ctx)
	return head.Seq, err
}

// Entries yields the stored audit log from a sequence on, up to its end at the time of the
// call, for [audit.Verify] and exports.
func (l *Log) Entries(ctx context.Context, from uint64) iter.Seq2[audit.Entry, error] {
	return l.EntriesFrom(ctx, max(from, 1)-1, time.Time{})
}

// EntriesFrom yields the audit log after a sequence (0: from the first entry) and not before
// a time, up to its end at the time of the call.
func (l *Log) EntriesFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		tail, err := l.tail(ctx)
		var info *jetstream.StreamInfo
		if err == nil {
			info, err = l.info(ctx)
		}
		if err != nil {
			yield(audit.Entry{}, err)
			return
		}
		last := info.State.LastSeq
		if len(tail) > 0 {
			last = tail[0].Seq - 1
		}
		var stored iter.Seq2[audit.Entry, error] = func(func(audit.Entry, error) bool) {}
		if info.State.Msgs > 0 && after < last && !since.After(info.State.LastTime) {
			config := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since}
			if after > 0 || since.IsZero() {
				config = fromSequence(after + 1)
			}
			stored = l.until(ctx, config, last)
		}
		for entry, err := range both(stored, tail) {
			wanted := entry.Seq > after && !entry.Event.Time.Before(since)
			if (err != nil || wanted) && (!yield(entry, err) || err != nil) {
				return
			}
		}
	}
}

// RecentEvents yields the last n events of the audit log, oldest first.
func (l *Log) RecentEvents(ctx context.Context, n int) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		head, err := l.Head(ctx)
		if err != nil {
			yield(approvals.Event{}, err)
			return
		}
		from := uint64(1)
		if last := uint64(n); head.Seq > last {
			from = head.Seq - last + 1
		}
		for entry, err := range l.Entries(ctx, from) {
			if !yield(entry.Event, err) {
				return
			}
		}
	}
}

// DropBefore deletes the events that were written before a time, except the last: the next
// entry of the chain contains its hash. It first calls declare with the first entry that
// remains, and deletes nothing if declare fails.
func (l *Log) DropBefore(ctx context.Context, before time.Time, declare func(context.Context, audit.Head) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	info, err := l.info(ctx)
	if err != nil {
		return err
	}
	if info.State.Msgs < 2 || !info.State.FirstTime.Before(before) {
		return nil
	}
	first, last := info.State.FirstSeq, info.State.LastSeq
	for first < last { // the first entry to keep: entries are in order of time
		middle := first + (last-first)/2
		msg, err := l.events.stream.GetMsg(ctx, middle)
		if err != nil {
			return l.backend.Fail(natskv.OpRead, "read the age of the audit log", err)
		}
		if msg.Time.Before(before) {
			first = middle + 1
		} else {
			last = middle
		}
	}
	head, err := l.events.headAt(ctx, first)
	if err != nil {
		return err
	}
	if err := declare(ctx, head); err != nil {
		return err
	}
	if err := l.events.stream.Purge(ctx, jetstream.WithPurgeSequence(first)); err != nil {
		return l.backend.Fail(natskv.OpWrite, "delete old audit entries", err)
	}
	return nil
}
