package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store/natskv"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// EventLog is the audit log in a stream: a chain of events, each a message. event_stream.go writes
// it, event_reader.go reads it. It is safe for concurrent use.
type EventLog struct {
	entryStream
	chain *audit.Log
}

func newEventLog(backend *natskv.Backend, in jetstream.Stream) *EventLog {
	s := entryStream{backend, in}
	return &EventLog{s, audit.NewLog(s, backend.MaxRecord)}
}

// wait waits for the appends in progress.
func (s *EventLog) wait() { s.chain.Wait() }

// AppendEvents adds to the audit chain.
func (s *EventLog) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	if cause := s.backend.Disk.Unwritable(ctx); cause != nil {
		return s.backend.Fail(natskv.OpAppend, "append to the audit log", cause)
	}
	err := s.backend.Again(ctx, func() error { return s.chain.Append(ctx, events...) })
	if !errors.Is(err, approvals.ErrTooLarge) {
		err = s.backend.Disk.Wrote("events", err)
	}
	if err == nil || errors.Is(err, approvals.ErrTooLarge) || errors.Is(err, approvals.ErrStoreUnavailable) {
		return err
	}
	return s.backend.Fail(natskv.OpAppend, "append to the audit log", err)
}

// EnsureEvent appends an event unless one with its id is in the log.
func (s *EventLog) EnsureEvent(ctx context.Context, e approvals.Event) error {
	ctx, cancel := context.WithTimeout(ctx, 2*natskv.OpTimeout)
	defer cancel()
	err := s.chain.Ensure(ctx, e, func(ctx context.Context) (bool, error) { return s.has(ctx, e) })
	if err == nil || errors.Is(err, approvals.ErrStoreUnavailable) {
		return err
	}
	return s.backend.Fail(natskv.OpAppend, "append to the audit log", err)
}

// HasEvent reports whether an event of the type, the tenant and the request of e is in the log.
func (s *EventLog) HasEvent(ctx context.Context, e approvals.Event) (bool, error) {
	for _, err := range natskv.Messages(ctx, s.stream, subjects.OfEvent(e), 1) {
		if err != nil {
			return false, s.backend.Fail(natskv.OpRead, "look for an event of request "+e.RequestID, err)
		}
		return true, nil
	}
	return false, nil
}

// Events yields the audit log from a sequence on and waits for more.
func (s *EventLog) Events(ctx context.Context, from uint64) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		for entry, err := range s.read(ctx, fromSequence(from)) {
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
func (s *EventLog) LastSeq(ctx context.Context) (uint64, error) {
	ctx, cancel := natskv.Bounded(ctx)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err != nil {
		return 0, s.backend.Fail(natskv.OpRead, "read the end of the audit log", err)
	}
	return info.State.LastSeq, nil
}

// Entries yields the stored audit log from a sequence on, up to its end at the time of the
// call, for [audit.Verify] and exports.
func (s *EventLog) Entries(ctx context.Context, from uint64) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		head, err := s.Head(ctx)
		if err != nil {
			yield(audit.Entry{}, err)
			return
		}
		if head.Hash == "" || from > head.Seq {
			return
		}
		for entry, err := range s.read(ctx, fromSequence(max(from, 1))) {
			if !yield(entry, err) || entry.Seq >= head.Seq {
				return
			}
		}
	}
}

// EntriesFrom yields the audit log after a sequence (0: from the first entry) and not before
// a time, up to its end at the time of the call.
func (s *EventLog) EntriesFrom(ctx context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		info, err := s.stream.Info(ctx)
		if err != nil {
			yield(audit.Entry{}, s.backend.Fail(natskv.OpRead, "read the end of the audit log", err))
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
		for entry, err := range s.read(ctx, config) {
			if err != nil || !entry.Event.Time.Before(since) {
				if !yield(entry, err) {
					return
				}
			}
			if entry.Seq >= last {
				return
			}
		}
	}
}

// RecentEvents yields the last n events of the audit log, oldest first.
func (s *EventLog) RecentEvents(ctx context.Context, n int) iter.Seq2[approvals.Event, error] {
	return func(yield func(approvals.Event, error) bool) {
		head, err := s.Head(ctx)
		if err != nil {
			yield(approvals.Event{}, err)
			return
		}
		from := uint64(1)
		if last := uint64(n); head.Seq > last {
			from = head.Seq - last + 1
		}
		for entry, err := range s.Entries(ctx, from) {
			if !yield(entry.Event, err) {
				return
			}
		}
	}
}

// DropBefore deletes the events that were written before a time, except the last: the next
// entry of the chain contains its hash. It first calls declare with the first entry that
// remains, and deletes nothing if declare fails.
func (s *EventLog) DropBefore(ctx context.Context, before time.Time, declare func(context.Context, audit.Head) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err != nil {
		return s.backend.Fail(natskv.OpRead, "read the age of the audit log", err)
	}
	if info.State.Msgs < 2 || !info.State.FirstTime.Before(before) {
		return nil
	}
	first, last := info.State.FirstSeq, info.State.LastSeq
	for first < last { // the first entry to keep: entries are in order of time
		middle := first + (last-first)/2
		msg, err := s.stream.GetMsg(ctx, middle)
		if err != nil {
			return s.backend.Fail(natskv.OpRead, "read the age of the audit log", err)
		}
		if msg.Time.Before(before) {
			first = middle + 1
		} else {
			last = middle
		}
	}
	head, err := s.headAt(ctx, first)
	if err != nil {
		return err
	}
	if err := declare(ctx, head); err != nil {
		return err
	}
	if err := s.stream.Purge(ctx, jetstream.WithPurgeSequence(first)); err != nil {
		return s.backend.Fail(natskv.OpWrite, "delete old audit entries", err)
	}
	return nil
}
