package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

// AppendEvents adds to the audit chain.
func (s *Store) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	if cause := s.disk.unwritable(); cause != nil {
		return s.fail(opAppend, "append to the audit log", cause)
	}
	err := s.chain.Append(ctx, events...)
	if !errors.Is(err, approvals.ErrTooLarge) {
		err = s.disk.wrote("events", err)
	}
	if err == nil || errors.Is(err, approvals.ErrTooLarge) || errors.Is(err, approvals.ErrStoreUnavailable) {
		return err
	}
	return s.fail(opAppend, "append to the audit log", err)
}

// EnsureEvent appends an event unless one with its id is in the log.
func (s *Store) EnsureEvent(ctx context.Context, e approvals.Event) error {
	ctx, cancel := context.WithTimeout(ctx, 2*opTimeout)
	defer cancel()
	err := s.chain.Ensure(ctx, e, func(ctx context.Context) (bool, error) { return s.hasEvent(ctx, e) })
	if err == nil || errors.Is(err, approvals.ErrStoreUnavailable) {
		return err
	}
	return s.fail(opAppend, "append to the audit log", err)
}

// hasEvent looks for an event among those of its subject, which are few.
func (s *Store) hasEvent(ctx context.Context, e approvals.Event) (bool, error) {
	for msg, err := range messages(ctx, s.events, eventSubject(e)) {
		if err != nil {
			return false, s.fail(opRead, "look for event "+e.ID, err)
		}
		if entry, err := audit.Parse(msg.Sequence, msg.Data); err == nil && entry.Event.ID == e.ID {
			return true, nil
		}
	}
	return false, nil
}

// messages yields what a stream holds of a subject, in order, each read by
// itself: no consumer is made.
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

// Events yields the audit log from a sequence on and waits for more.
func (s *Store) Events(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		for entry, err := range s.follower(ctx, from) {
			if !yield(entry.Event, err) {
				return
			}
		}
	}
}

// LastSeq is the sequence number of the latest event.
func (s *Store) LastSeq(ctx context.Context) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	info, err := s.events.Info(ctx)
	if err != nil {
		return 0, s.fail(opRead, "read the end of the audit log", err)
	}
	return info.State.LastSeq, nil
}

// Entries yields the audit log as it is stored, from a sequence on, up to what
// was there when it began. It is what [audit.Verify] and an export take.
func (s *Store) Entries(ctx context.Context, from uint64) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		head, err := eventStream{s}.Head(ctx)
		if err != nil {
			yield(audit.Entry{}, err)
			return
		}
		if head.Hash == "" || from > head.Seq {
			return
		}
		for entry, err := range s.follower(ctx, max(from, 1)) {
			if !yield(entry, err) || entry.Seq >= head.Seq {
				return
			}
		}
	}
}

// EventsFrom yields the audit log after a sequence (0: from the first event) and not
// before a time, up to what was there when it began.
func (s *Store) EventsFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		info, err := s.events.Info(ctx)
		if err != nil {
			yield(approvals.Event{}, s.fail(opRead, "read the end of the audit log", err))
			return
		}
		last := info.State.LastSeq
		if info.State.Msgs == 0 || after >= last || since.After(info.State.LastTime) {
			return
		}
		config := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since}
		if after > 0 {
			config = fromSequence(after + 1)
		}
		for entry, err := range s.readLog(ctx, config) {
			if err != nil || !entry.Event.Time.Before(since) {
				if !yield(entry.Event, err) {
					return
				}
			}
			if entry.Seq >= last {
				return
			}
		}
	}
}

// fromSequence begins a reader at a sequence, 0 with what comes next.
func fromSequence(from uint64) jetstream.OrderedConsumerConfig {
	if from == 0 {
		return jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy}
	}
	return jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from}
}

// follower reads the log from a sequence on with a consumer that recovers by itself.
func (s *Store) follower(ctx context.Context, from uint64) iter.Seq2[audit.Entry, error] {
	return s.readLog(ctx, fromSequence(from))
}

// readAhead is how many messages one reader takes at a time. An event may have some MB,
// and a NATS server ends a connection for which 64 MiB wait.
const readAhead = 8

// readLog reads the log as configured, and waits for more.
func (s *Store) readLog(ctx context.Context, config jetstream.OrderedConsumerConfig) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		consumer, err := s.events.OrderedConsumer(ctx, config)
		if err != nil {
			yieldFailure(ctx, yield, s.fail(opRead, "read the audit log", err))
			return
		}
		reader, err := consumer.Messages(jetstream.PullMaxMessages(readAhead))
		if err != nil {
			yieldFailure(ctx, yield, s.fail(opRead, "read the audit log", err))
			return
		}
		defer reader.Stop()
		for {
			entry, err := nextEntry(ctx, reader)
			if err != nil {
				yieldFailure(ctx, yield, s.fail(opRead, "read the audit log", err))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// yieldFailure ends an iteration: without an error if the reader had enough.
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

// eventStream is the stream of events as the audit chain writes it.
type eventStream struct{ store *Store }

// Head is the end of the log.
func (e eventStream) Head(ctx context.Context) (audit.Head, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	info, err := e.store.events.Info(ctx)
	if err != nil {
		return audit.Head{}, e.store.fail(opRead, "read the end of the audit log", err)
	}
	head := audit.Head{Seq: info.State.LastSeq}
	if info.State.Msgs == 0 {
		return head, nil
	}
	last, err := e.Entry(ctx, head.Seq)
	if err != nil {
		return audit.Head{}, err
	}
	head.Hash = last.Event.Hash
	return head, nil
}

// Entry reads one entry.
func (e eventStream) Entry(ctx context.Context, seq uint64) (audit.Entry, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	msg, err := e.store.events.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return audit.Entry{}, fmt.Errorf("audit entry %d: %w", seq, audit.ErrNoEntry)
	}
	if err != nil {
		return audit.Entry{}, e.store.fail(opRead, "read the audit log", err)
	}
	return audit.Parse(msg.Sequence, msg.Data)
}

// The headers of an atomic batch (NATS ADR-50).
const (
	headerBatch       = "Nats-Batch-Id"
	headerBatchSeq    = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// AppendAfter publishes entries as one atomic batch: one wait for the disk.
func (e eventStream) AppendAfter(ctx context.Context, seq uint64, entries []audit.Entry) error {
	defer e.store.metrics.timeWrite()()
	conn := e.store.conn
	batch := nuid.Next()
	for i, entry := range entries {
		msg := natsgo.NewMsg(eventSubject(entry.Event))
		msg.Data = entry.Data
		msg.Header.Set(jetstream.MsgIDHeader, entry.Event.ID)
		msg.Header.Set(jetstream.ExpectedStreamHeader, StreamEvents)
		if i == 0 {
			msg.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(seq, 10))
		}
		if len(entries) > 1 {
			msg.Header.Set(headerBatch, batch)
			msg.Header.Set(headerBatchSeq, strconv.Itoa(i+1))
		}
		if i < len(entries)-1 {
			if err := conn.PublishMsg(msg); err != nil {
				return e.store.fail(opAppend, "append to the audit log", err)
			}
			continue
		}
		if len(entries) > 1 {
			msg.Header.Set(headerBatchCommit, "1")
		}
		return e.commit(ctx, msg)
	}
	return nil
}

// commit publishes the last message of a batch and reads the answer to it.
func (e eventStream) commit(ctx context.Context, msg *natsgo.Msg) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	reply, err := e.store.conn.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return e.store.fail(opAppend, "append to the audit log", err)
	}
	var ack struct {
		Error     *jetstream.APIError `json:"error"`
		Sequence  uint64              `json:"seq"`
		Duplicate bool                `json:"duplicate"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return e.store.fail(opAppend, "append to the audit log", err)
	}
	const duplicateInBatch, duplicateInProcess = 10201, 10158
	switch {
	case ack.Duplicate:
		return audit.ErrDuplicate
	case ack.Error == nil && ack.Sequence > 0:
		return nil
	case ack.Error == nil:
		return e.store.fail(opAppend, "append to the audit log", errors.New("the answer names no sequence"))
	case wrongSequence(ack.Error):
		return audit.ErrMoved
	case ack.Error.ErrorCode == duplicateInBatch || ack.Error.ErrorCode == duplicateInProcess:
		return audit.ErrDuplicate
	}
	return e.store.fail(opAppend, "append to the audit log", ack.Error)
}
