package store

import (
	"context"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// has reports whether an event is in the log. It reads the few events of its subject.
func (e entryStream) has(ctx context.Context, event approvals.Event) (bool, error) {
	for msg, err := range natskv.Messages(ctx, e.stream, subjects.OfEvent(event), 1) {
		if err != nil {
			return false, e.backend.Fail(natskv.OpRead, "look for event "+event.ID, err)
		}
		if entry, err := audit.Parse(msg.Sequence, msg.Data); err == nil && entry.Event.ID == event.ID {
			return true, nil
		}
	}
	return false, nil
}

// Changes returns the entries of a type whose subjects end with their own id, in order. It reads no others,
// however long the log is.
func (e entryStream) Changes(ctx context.Context, t approvals.EventType) (entries []audit.Entry, err error) {
	last, err := natskv.LastOfEach(ctx, e.stream, ofType(t))
	for _, msg := range last {
		var entry audit.Entry
		if entry, err = audit.Parse(msg.Sequence, msg.Data); err != nil {
			break
		}
		entries = append(entries, entry)
	}
	if err != nil {
		return nil, e.backend.Fail(natskv.OpRead, "read the audit log", err)
	}
	return entries, nil
}

// ofType returns the subject of the events of a type.
func ofType(t approvals.EventType) string {
	return subjects.Fill(subjects.Event, "*", subjects.Token(string(t)), "*")
}

// OfType yields the entries of a type from a sequence on, to the end of the log.
func (e entryStream) OfType(ctx context.Context, t approvals.EventType, from uint64) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for msg, err := range natskv.Messages(ctx, e.stream, ofType(t), from) {
			var entry audit.Entry
			if err == nil {
				entry, err = audit.Parse(msg.Sequence, msg.Data)
			}
			if err != nil {
				yield(entry, e.backend.Fail(natskv.OpRead, "read the audit log", err))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// fromSequence returns the configuration of a reader that begins at a sequence; 0: at the
// next event.
func fromSequence(from uint64) jetstream.OrderedConsumerConfig {
	if from == 0 {
		return jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy}
	}
	return jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from}
}

// readAhead is the number of messages that one reader requests at a time. An event may have
// some MB, and a NATS server closes a connection with 64 MiB of pending data.
const readAhead = 8

// read yields the log by a consumer that recovers by itself, and waits for more. It
// ends without an error when the context ends.
func (e entryStream) read(ctx context.Context, config jetstream.OrderedConsumerConfig) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		fail := func(err error) {
			if ctx.Err() == nil {
				yield(audit.Entry{}, e.backend.Fail(natskv.OpRead, "read the audit log", err))
			}
		}
		consumer, err := e.stream.OrderedConsumer(ctx, config)
		if err != nil {
			fail(err)
			return
		}
		defer e.remove(consumer)
		reader, err := consumer.Messages(jetstream.PullMaxMessages(readAhead))
		if err != nil {
			fail(err)
			return
		}
		defer reader.Stop()
		for {
			msg, err := natskv.Next(ctx, reader)
			var entry audit.Entry
			if err == nil {
				entry, err = entryOf(msg)
			}
			if err != nil {
				fail(err)
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// remove removes the consumer of a reader that has ended. The server would keep it for minutes, and
// a stream has at most a thousand consumers.
func (e entryStream) remove(consumer jetstream.Consumer) {
	info := consumer.CachedInfo()
	if info == nil || !e.backend.Connected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	if _, err := natskv.Await(ctx, func(ctx context.Context) (any, error) { return nil, e.stream.DeleteConsumer(ctx, info.Name) }); err != nil {
		e.backend.Log.Debug("failed to remove a consumer of the audit log; the server removes it later", "error", err)
	}
}

// removeTimeout bounds the removal of a consumer: heldcall may be stopping.
const removeTimeout = time.Second

// entryOf parses a message as an entry of the audit log.
func entryOf(msg jetstream.Msg) (audit.Entry, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return audit.Entry{}, err
	}
	return audit.ParseAny(meta.Sequence.Stream, msg.Data()), nil
}
