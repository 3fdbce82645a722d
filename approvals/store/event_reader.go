package store

import (
	"context"
	"errors"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// has reports whether an event is in the log. It reads the few events of its subject.
func (e eventStream) has(ctx context.Context, event approvals.Event) (bool, error) {
	for msg, err := range messages(ctx, e.stream, subjects.OfEvent(event)) {
		if err != nil {
			return false, e.backend.fail(opRead, "look for event "+event.ID, err)
		}
		if entry, err := audit.Parse(msg.Sequence, msg.Data); err == nil && entry.Event.ID == event.ID {
			return true, nil
		}
	}
	return false, nil
}

// messages yields the messages of a subject in order. It reads each by its sequence and
// creates no consumer.
func messages(ctx context.Context, stream jetstream.Stream, subject string) iter.Seq2[*jetstream.RawStreamMsg, error] {
	return func(yield func(*jetstream.RawStreamMsg, error) bool) {
		for seq := uint64(1); ; {
			read, cancel := bounded(ctx)
			msg, err := stream.GetMsg(read, seq, jetstream.WithGetMsgSubject(subject))
			cancel()
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			if !yield(msg, err) || err != nil {
				return
			}
			seq = msg.Sequence + 1
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

// follow yields the log from a sequence on, and waits for more.
func (e eventStream) follow(ctx context.Context, from uint64) iter.Seq2[audit.Entry, error] {
	return e.read(ctx, fromSequence(from))
}

// readAhead is the number of messages that one reader requests at a time. An event may have
// some MB, and a NATS server closes a connection with 64 MiB of pending data.
const readAhead = 8

// read yields the log by a consumer that recovers by itself, and waits for more.
func (e eventStream) read(ctx context.Context, config jetstream.OrderedConsumerConfig) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		consumer, err := e.stream.OrderedConsumer(ctx, config)
		if err != nil {
			yieldFailure(ctx, yield, e.backend.fail(opRead, "read the audit log", err))
			return
		}
		reader, err := consumer.Messages(jetstream.PullMaxMessages(readAhead))
		if err != nil {
			yieldFailure(ctx, yield, e.backend.fail(opRead, "read the audit log", err))
			return
		}
		defer reader.Stop()
		for {
			entry, err := nextEntry(ctx, reader)
			if err != nil {
				yieldFailure(ctx, yield, e.backend.fail(opRead, "read the audit log", err))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// yieldFailure ends an iteration with an error, unless the context has ended.
func yieldFailure(ctx context.Context, yield func(audit.Entry, error) bool, err error) {
	if ctx.Err() == nil {
		yield(audit.Entry{}, err)
	}
}

func nextEntry(ctx context.Context, reader jetstream.MessagesContext) (audit.Entry, error) {
	msg, err := reader.Next(jetstream.NextContext(ctx))
	if err != nil {
		return audit.Entry{}, err
	}
	return entryOf(msg)
}

// entryOf parses a message as an entry of the audit log.
func entryOf(msg jetstream.Msg) (audit.Entry, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return audit.Entry{}, err
	}
	return audit.Parse(meta.Sequence.Stream, msg.Data())
}
